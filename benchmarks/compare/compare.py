"""Runs a group of comparisons and prints the table; see compare.sh.

Ours and every form of the peers are measured in turn, each in a child process with limits of time
and memory; the medians are compared, and the peer's best form counts. What slows the machine down
for a while slows down all; what others took of it during a row is said.
"""

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys

import machine
import rows as row_tables
import sides
import table


def read_anew(folder):
    """Warm files as a first epoch leaves them: pages that were cached when the files were written lie
    one by one, those that were read ahead in larger pieces, out of which both sides read up to a third
    faster. How large depends on how much is read at once: 256 KiB, as both sides do.
    """
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb", buffering=0) as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                while file.read(256 << 10):
                    pass


def make_data(options):
    """Writes the record files that both sides read, where they are not there yet."""
    done = subprocess.run([options.ours, "--make-data", "--data", options.data],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare.sh: could not write the record files: {done.stderr.strip()}")
    if {"image", "python"} & set(options.groups):
        script = os.path.join(sides.HERE, "photo_data.py")
        done = subprocess.run([sys.executable, script, os.path.join(options.data, "photos")],
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"compare.sh: could not make the photographs: {done.stderr.strip()}")
    if "python" in options.groups:
        script = os.path.join(sides.HERE, "python_files.py")
        done = subprocess.run([sys.executable, script, options.data], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"compare.sh: could not write the peers' files: {done.stderr.strip()}")
    read_anew(options.data)


def python_with_torch():
    """This environment's Python if it has PyTorch; else Debian's, which no environment of ours sees."""
    return sys.executable if importlib.util.find_spec("torch") else "/usr/bin/python3"


def measure_row(row, peers, options):
    """The JSON object of a row. One turn: ours, then every form of every peer."""
    forms, missing = {}, {}
    for name in row.peers:
        try:
            forms[name] = peers[name].forms(row)
        except sides.NotInstalled as error:
            missing[name] = str(error)
    children = [peer.process.pid for peer in peers.values() if peer.process is not None]
    watch = machine.Watch(children)
    ours, others, failures = [], [], {}
    theirs = {(name, form): [] for name in forms for form in forms[name]}
    for _ in range(options.repetitions):
        answer = sides.measure_ours(row, options)
        if row.in_python:
            answer = {"ours": peers[row_tables.INFEED].measure(row, "as written", options),
                      "other": answer["ours"]}
        ours.append(answer["ours"])
        if "other" in answer:
            others.append(answer["other"])
        for key, values in theirs.items():
            if key in failures:
                continue
            try:
                values.append(peers[key[0]].measure(row, key[1], options))
            except sides.MeasureError as error:  # this form is out; the others go on
                failures[key] = str(error)
    result = {"name": row.name, "unit": row.unit, "ours": figures(ours),
              "disturbed": watch.report([p.process.pid for p in peers.values() if p.process]),
              "peers": {name: best_first(row, {form: figures(theirs[name, form])
                                               for form in forms[name]
                                               if (name, form) not in failures})
                        for name in forms},
              "not_installed": missing,
              "failed_forms": {f"{name}, {form}": text
                               for (name, form), text in failures.items()}}
    for name, measured in result["peers"].items():
        if not measured:
            raise sides.MeasureError(f"no form of {name} could be measured: "
                                     + "; ".join(failures.values()))
    in_python = (row_tables.INFEED,) if row.in_python else ()
    result["notes"] = {f"{name}, {form}": notes for name in (*in_python, *forms)
                       for (of_row, form), notes in peers[name].notes.items() if of_row == row.name}
    if row.other:
        result["other"] = {"what": row.other, **figures(others)}
    return {**result, **row.judge(result)}


def figures(values):
    return {"median": statistics.median(values), "least": min(values), "most": max(values),
            "repeats": len(values)}


def best_first(row, forms):
    return dict(sorted(forms.items(), key=lambda item: item[1]["median"],
                       reverse=row.higher_is_better))


def parse_arguments():
    parser = argparse.ArgumentParser(prog="compare.sh")
    parser.add_argument("groups", nargs="*", default=["main"])
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--ours", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--data", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for group in options.groups:
        if group not in row_tables.ROWS:
            parser.error(f"there is no group '{group}': the groups are "
                         + ", ".join(row_tables.ROWS))
    options.seconds = 0.15 if options.short else 0.4
    options.repetitions = 1 if options.short else 3
    return options


def measure_group(group, peers, options):
    """Prints as it goes; the rows, and how many failed."""
    results, failures = [], 0
    print(table.header(), flush=True)
    for row in row_tables.ROWS[group]:
        if options.only not in row.name:
            continue
        try:
            result = {"group": group, **measure_row(row, peers, options)}
        except sides.MeasureError as error:
            failures += 1
            print(f"{row.name}: {error}", file=sys.stderr, flush=True)
            continue
        results.append(result)
        for line in table.row_lines(result):
            print(line, flush=True)
        for form, text in result["failed_forms"].items():
            failures += 1
            print(f"{row.name}: {form}: {text}", file=sys.stderr, flush=True)
    for line in [table.summary(results)] + table.forms_lines(results):
        print(line)
    return results, failures


def write_json(options, results):
    with open(options.json, "w") as file:
        json.dump({"groups": options.groups, "cores": os.cpu_count(),
                   "machine": platform.processor() or platform.machine(), "rows": results},
                  file, indent=1)
        file.write("\n")


def main():
    options = parse_arguments()
    make_data(options)
    peers = {row_tables.TFDATA: sides.Peer(row_tables.TFDATA, "tfdata.py"),
             row_tables.MLX: sides.Peer(row_tables.MLX, "mlx_data.py"),
             row_tables.GRAIN: sides.Peer(row_tables.GRAIN, "grain_data.py"),
             row_tables.DALI: sides.Peer(row_tables.DALI, "dali_data.py"),
             row_tables.INFEED: sides.Peer(row_tables.INFEED, "python_infeed.py"),
             row_tables.TENSOR_LOADER: sides.Peer(row_tables.TENSOR_LOADER, "python_torch.py", "tensors",
                                                  python=python_with_torch()),
             row_tables.INDEX_LOADER: sides.Peer(row_tables.INDEX_LOADER, "python_torch.py", "indices",
                                                 python=python_with_torch()),
             row_tables.ITEM_LOADER: sides.Peer(row_tables.ITEM_LOADER, "python_torch.py", "items",
                                                python=python_with_torch()),
             row_tables.HUGGING_FACE: sides.Peer(row_tables.HUGGING_FACE, "python_others.py",
                                                 "hugging face"),
             row_tables.WEBDATASET: sides.Peer(row_tables.WEBDATASET, "python_others.py", "webdataset"),
             row_tables.SPDL: sides.Peer(row_tables.SPDL, "python_spdl.py"),
             row_tables.PANDAS: sides.Peer(row_tables.PANDAS, "python_csv.py", "pandas"),
             row_tables.PYARROW_ARRAYS: sides.Peer(row_tables.PYARROW_ARRAYS, "python_csv.py", "pyarrow"),
             row_tables.TORCH_LINES: sides.Peer(row_tables.TORCH_LINES, "python_torch_csv.py",
                                                python=python_with_torch()),
             row_tables.PYARROW: sides.Peer(row_tables.PYARROW, "pyarrow_text.py"),
             row_tables.TENSORFLOW: sides.Peer(row_tables.TENSORFLOW, "tensorflow_steps.py"),
             # Debian's packages, which no environment of ours can see.
             row_tables.PYTORCH: sides.Peer(row_tables.PYTORCH, "pytorch_steps.py",
                                            python="/usr/bin/python3"),
             row_tables.TORCHVISION: sides.Peer(row_tables.TORCHVISION, "torchvision_data.py",
                                                python="/usr/bin/python3")}
    results, failures = [], 0
    try:
        for group in options.groups:
            measured, failed = measure_group(group, peers, options)
            results += measured
            failures += failed
            if options.json:
                write_json(options, results)
    except KeyboardInterrupt:
        print("interrupted: the rows above are what was measured", file=sys.stderr)
        failures += 1
    finally:
        for peer in peers.values():
            peer.stop()
    if failures:
        print(f"{failures} rows or forms failed", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
