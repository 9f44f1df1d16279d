"""Entry point of a model's process. The server starts it with four open descriptors:

3  socket to the server: batches in, everything else out
4  pipe from the server: responses to calls, cancellations, control
5  shared memory that the server writes (large input tensors)
6  shared memory that this process writes (large output tensors)
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    # The directory of this file is on the path only to find the runtime; models get it behind their own directories.
    if sys.path and os.path.abspath(sys.path[0] or ".") == _HERE:
        del sys.path[0]
    sys.path.append(_HERE)
    from triton_runtime.start import start

    start(_HERE)


if __name__ == "__main__":
    main()
