"""Feature operations: what the library makes of drawn columns is what pandas, NumPy and TensorFlow make of them.

    INFEED_TEST_SEED=7 INFEED_FEATURE_CASES=10000 tests/interop/run.sh test_features.py

draws that many cases instead of the usual few hundred.
"""

import collections
import ctypes
import json
import os
import tempfile
import unittest

import pyarrow as pa

from feature_referee import draw_case, plain

SEED = int(os.environ.get("INFEED_TEST_SEED", "20261127"))
CASES = int(os.environ.get("INFEED_FEATURE_CASES", "400"))
TABLE = os.path.join(os.path.dirname(__file__), "..", "records", "features", "feature_answers.json")

LIBRARY = ctypes.CDLL(os.environ["INFEED_COLUMNS_LIBRARY"])
LIBRARY.infeed_features.restype = ctypes.c_char_p
LIBRARY.infeed_features.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_void_p] * 2


def apply_features(file, case):
    """Column "y" as a list of rows."""
    schema_at, array_at = (ctypes.c_void_p * 9)(), (ctypes.c_void_p * 10)()
    refusal = LIBRARY.infeed_features(
        os.fsencode(file), json.dumps({"columns": case["schema"]}).encode(),
        json.dumps({"features": case["steps"]}).encode(), ctypes.byref(schema_at), ctypes.byref(array_at))
    if refusal is not None:
        raise AssertionError(refusal.decode(errors="replace"))
    batch = pa.RecordBatch._import_from_c(ctypes.addressof(array_at), ctypes.addressof(schema_at))
    return plain(batch.column("y").to_pylist()) if batch.num_columns else []


class FeatureOperations(unittest.TestCase):
    def test_answers_are_those_of_the_referees(self):
        seen = collections.Counter()
        with tempfile.TemporaryDirectory(prefix="infeed-interop-") as folder:
            file = os.path.join(folder, "rows.jsonl")
            for seed in range(SEED, SEED + CASES):
                case = draw_case(seed)
                with open(file, "w", encoding="utf-8") as stream:
                    stream.writelines(json.dumps(row) + "\n" for row in case["rows"])
                with self.subTest(seed=seed):
                    self.assertEqual(apply_features(file, case), case["answer"], json.dumps(case))
                seen[case["steps"][-1]["name"]] += 1
        print(", ".join(f"{count} {name}" for name, count in sorted(seen.items())))
        self.assertEqual(len(seen), 10)

    def test_the_table_of_the_cpp_tests_is_theirs(self):
        with open(TABLE, encoding="utf-8") as stream:
            table = json.load(stream)
        self.assertGreaterEqual(len(table), 100)
        for seed, case in enumerate(table):
            with self.subTest(seed=seed):
                self.assertEqual(case, draw_case(seed))


if __name__ == "__main__":
    unittest.main()
