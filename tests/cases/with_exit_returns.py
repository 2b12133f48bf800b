def libc_ver(executable=None):
    with open(executable, 'rb') as f:
        binary = f.read(chunksize)
        pos = 0
        while pos < len(binary):
            if b'libc' in binary:
                m = search(binary, pos)
            else:
                m = None
            if not m or m.end() == len(binary):
                chunk = f.read(chunksize)
                if chunk:
                    binary = binary + chunk
                    pos = 0
                    continue
                if not m:
                    break
            libcinit = m.groups()
            pos = m.end()
    return lib, version
# output
def libc_ver(executable=None):
    with open(executable, "rb") as f:
        binary = f.read(chunksize)
        pos = 0
        while pos < len(binary):
            if b"libc" in binary:
                m = search(binary, pos)
            else:
                m = None
            if not m or m.end() == len(binary):
                chunk = f.read(chunksize)
                if chunk:
                    binary = binary + chunk
                    pos = 0
                    continue
                if not m:
                    break
            libcinit = m.groups()
            pos = m.end()
    return lib, version
