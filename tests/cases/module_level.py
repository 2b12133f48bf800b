"""Module docstring."""

import os

name = os.name
if name:
    value = 1
else:
    value = 2
for i in range(value):
    print(i)
while value:
    value -= 1
try:
    os.remove(name)
except OSError:
    pass
with open(name) as file:
    text = file.read()


def main():
    return text


if __name__ == "__main__":
    main()
