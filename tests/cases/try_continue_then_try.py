def connect(self):
    end_time = 1
    while True:
        try:
            data = read_status(self.status_file)
        except BadStatus as exc:
            last_exception = exc
            if time.time() >= end_time:
                break
            time.sleep(1)
            continue
        try:
            self.conn = IPCClient(connection_name, WORKER_CONNECTION_TIMEOUT)
            return
        except Exception as exc:
            last_exception = exc
            break
    print(f"Failed to establish connection with worker: {last_exception}")
