"""The pipeline's readers of tables and JSON lines, through a library of C functions."""

import ctypes
import json
import os

import pyarrow as pa

LIBRARY = ctypes.CDLL(os.environ["INFEED_COLUMNS_LIBRARY"])
LIBRARY.infeed_read_text.restype = ctypes.c_char_p
LIBRARY.infeed_read_text.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char, ctypes.c_int, ctypes.c_int,
                                     ctypes.c_void_p, ctypes.c_void_p]


def read_text(file, schema, delimiter=b"\0", has_quotes=True, leaves_out=False):
    """The rows of a file (delimiter 0: of JSON lines) and None, or None and why it is refused."""
    schema_at, array_at = (ctypes.c_void_p * 9)(), (ctypes.c_void_p * 10)()
    refusal = LIBRARY.infeed_read_text(
        os.fsencode(file), json.dumps({"columns": schema}).encode(), delimiter, int(has_quotes), int(leaves_out),
        ctypes.byref(schema_at), ctypes.byref(array_at))
    if refusal is not None:
        return None, refusal.decode(errors="replace")
    return pa.RecordBatch._import_from_c(ctypes.addressof(array_at), ctypes.addressof(schema_at)), None
