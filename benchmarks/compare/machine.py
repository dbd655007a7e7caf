"""Was the machine ours while a row was measured? What others took of it, as the kernel counts it."""

import os

_TICKS = os.sysconf("SC_CLK_TCK")
# Kernel threads and a shell or two are always there; more than that shows in the figures.
OTHERS_SHARE_MAX = 0.05
STEAL_SHARE_MAX = 0.01
THROTTLED_SHARE_MAX = 0.01


def _read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _seconds_of_process(pid):
    """CPU time of a process and of its children that have ended."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / _TICKS if fields else 0.0


def _cpu_stat_files():
    """Of our control groups and those around them, version 1 and 2."""
    files = []
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] if not controllers else [
            "/sys/fs/cgroup/" + controllers, "/sys/fs/cgroup/cpu"]
        while True:
            files += [root + path.rstrip("/") + "/cpu.stat" for root in roots]
            if path in ("/", ""):
                break
            path = os.path.dirname(path)
    return sorted({os.path.realpath(file) for file in files if os.path.exists(file)})


def _throttled_seconds():
    total = 0.0
    for file in _cpu_stat_files():
        for line in _read(file).splitlines():
            name, _, value = line.partition(" ")
            total += {"throttled_usec": 1e-6, "throttled_time": 1e-9}.get(name, 0) * int(value)
    return total


class Watch:
    """From its making to report(); `children`: process ids that are alive at both ends."""

    def __init__(self, children):
        self._before = self._now(children)

    @staticmethod
    def _now(children):
        user, nice, system, _, _, irq, softirq, steal = (
            int(field) / _TICKS for field in _read("/proc/stat").split("\n", 1)[0].split()[1:9])
        return {"time": float(_read("/proc/uptime").split()[0]),
                "busy": user + nice + system + irq + softirq, "steal": steal,
                "ours": _seconds_of_process(os.getpid()),
                "children": {pid: _seconds_of_process(pid) for pid in children},
                "throttled": _throttled_seconds()}

    def report(self, children):
        """What disturbed the row, for people; empty when nothing did."""
        before, now = self._before, self._now(children)
        seconds = max(0.01, now["time"] - before["time"])
        cores = os.cpu_count() or 1
        ours = now["ours"] - before["ours"]
        ours += sum(used - before["children"].get(pid, 0.0) for pid, used in now["children"].items())
        others = (now["busy"] - before["busy"] - ours) / (seconds * cores)
        steal = (now["steal"] - before["steal"]) / (seconds * cores)
        throttled = (now["throttled"] - before["throttled"]) / seconds
        texts = []
        if others > OTHERS_SHARE_MAX:
            load = _read("/proc/loadavg").split()
            texts.append(f"other processes took {others:.0%} of the cores"
                         + (f" (load {load[0]})" if load else ""))
        if steal > STEAL_SHARE_MAX:
            texts.append(f"the host took {steal:.0%} of the cores")
        if throttled > THROTTLED_SHARE_MAX:
            texts.append(f"a control group held us up for {throttled:.0%} of the time")
        return ", ".join(texts)
