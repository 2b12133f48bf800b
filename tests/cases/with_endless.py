def race(self, sock, size):
    with self.server:
        while size >= 4:
            with self.raises(BlockingIOError):
                while True:
                    sock.send(b" " * size)
            size = int(size / 2)
        sock.close()
