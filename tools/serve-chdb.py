"""A ClickHouse server for tests, from the library of chDB: `python3 serve-chdb.py LIBRARY DIRECTORY`.

DIRECTORY contains config.xml. The library runs clickhouse-local, which serves on the ports of its configuration once it is
asked to, for as long as its last query runs: a read of a FIFO that nothing writes.
"""
import ctypes
import os
import sys

library, directory = sys.argv[1:]
fifo = f"{directory}/never-written"
os.mkfifo(fifo)
queries = f"SYSTEM START LISTEN HTTP; SYSTEM START LISTEN TCP; SELECT * FROM file('{fifo}', LineAsString, 'line String')"
args = ["clickhouse", f"--config-file={directory}/config.xml", f"--path={directory}/data", "--query", queries]

engine = ctypes.CDLL(library)
engine.chdb_query_cmdline.restype = ctypes.c_void_p
engine.chdb_query_cmdline.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
engine.chdb_result_error.restype = ctypes.c_char_p
engine.chdb_result_error.argtypes = [ctypes.c_void_p]
result = engine.chdb_query_cmdline(len(args), (ctypes.c_char_p * len(args))(*(arg.encode() for arg in args)))
error = engine.chdb_result_error(result)
sys.exit(f"the server ended: {error.decode() if error else 'without an error'}")
