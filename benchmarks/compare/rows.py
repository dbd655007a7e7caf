"""What is compared: every row with its unit, its peers and the bar that the project sets itself.

A row's name is the same in infeed_compare (C++) and in the peers' modules. No bar is an absolute
time: it is a ratio to the peer's best form, or to a limit that our program measures in the same run
(limits.h says what each one is).
"""

from dataclasses import dataclass
from typing import Optional

TFDATA = "tf.data"
MLX = "mlx-data"
GRAIN = "Grain"
DALI = "DALI"
PYARROW = "pyarrow"
TENSORFLOW = "TensorFlow"
PYTORCH = "PyTorch"
TORCHVISION = "torchvision"
INFEED = "infeed in Python"
TENSOR_LOADER = "torch tensors"
INDEX_LOADER = "torch indices"
ITEM_LOADER = "torch transform"
HUGGING_FACE = "HF datasets"
WEBDATASET = "WebDataset"
SPDL = "SPDL"
PANDAS = "pandas"
PYARROW_ARRAYS = "pyarrow to NumPy"
TORCH_LINES = "torch lines"


@dataclass(frozen=True)
class Row:
    name: str
    group: str
    unit: str
    peers: tuple = (TFDATA,)
    # What stands in our own program's "other" column, when the row is compared with that.
    other: Optional[str] = None
    higher_is_better: bool = False
    # Bars: times better than the best form of the first peer (or than "other" where there is none);
    ratio_min: Optional[float] = None
    # of all peers, not only the first;
    best_peer: bool = False
    # instead of it, this share of "other", where that is less;
    ceiling_share_min: Optional[float] = None
    # and besides it, this share of a limit that "other" measures;
    limit_share_min: Optional[float] = None
    # and besides it, times better than the best form of each of these peers.
    ratios_min: tuple = ()
    # Our side is the Python package, and "other" our program's row of the same name.
    in_python: bool = False

    def ratio(self, ours, peer):
        """How many times better ours is."""
        if not ours or not peer:
            return None
        return ours / peer if self.higher_is_better else peer / ours

    def judge(self, result):
        """Ratios by what it is compared with, and what that means for the bars."""
        ours = result["ours"]["median"]
        ratios = {name: self.ratio(ours, next(iter(forms.values()))["median"])
                  for name, forms in result["peers"].items()}
        share = self.ratio(ours, result["other"]["median"]) if self.other else None
        if self.other:
            ratios[self.other] = share
        first = next(iter(ratios.values()), None)
        if self.best_peer and result["peers"]:
            first = min(ratios[name] for name in result["peers"])
        met, texts = True, []
        has_first = self.best_peer or not self.peers or self.peers[0] in result["peers"]
        if self.ratio_min is not None and has_first:
            texts.append(f">= {self.ratio_min:g} x")
            met = first >= self.ratio_min
        if self.ceiling_share_min is not None:
            texts.append(f"or {self.ceiling_share_min:g} of the ceiling")
            met = met or share >= self.ceiling_share_min
        if self.limit_share_min is not None:
            texts.append(f">= {self.limit_share_min:g} of the limit")
            met = met and share >= self.limit_share_min
        for name, least in self.ratios_min:
            if name not in ratios:  # not installed
                continue
            texts.append(f">= {least:g} x {name}")
            met = met and ratios[name] >= least
        bar = ("met     " if met else "MISSED  ") + ", ".join(texts) if texts else ""
        return {"ratios": ratios, "bar": bar, "bar_met": met}


def _stage(name, ratio_min, peers=(TFDATA,), **more):
    return Row(name, "engine", "ns/element", peers, ratio_min=ratio_min, **more)


def _rate(name, unit, ratio_min=None, **more):
    return Row(name, "main", unit, (TFDATA,), ratio_min=ratio_min, higher_is_better=True, **more)


ENGINE = [
    _stage("range", 50),
    _stage("map", None, (TFDATA, GRAIN), other="a call", limit_share_min=0.8),
    _stage("range | map x10", None, other="ten calls", limit_share_min=0.8),
    _stage("filter", None, (TFDATA, MLX, GRAIN), other="a call", limit_share_min=0.8),
    _stage("scan", None, other="a call", limit_share_min=0.8),
    _stage("take_while", None, other="a call", limit_share_min=0.8),
    _stage("unique", None, other="a hash table", limit_share_min=0.5),
    _stage("shuffle(10000)", 50, (TFDATA, MLX, GRAIN)),
    _stage("batch(128)", 50, (TFDATA, MLX, GRAIN)),
    _stage("batch(128) | unbatch", 50),
    _stage("repeat", 50, (TFDATA, MLX)),
    _stage("enumerate", 50),
    _stage("take", 50),
    _stage("skip", 50),
    _stage("shard(4)", 50, (TFDATA, MLX)),
    _stage("prefetch(2)", 50, (TFDATA, MLX)),
    _stage("prefetch(autotune)", 50),
    _stage("range | map | shuffle(10000) | batch(128) | prefetch", None, (TFDATA, GRAIN),
           other="a loop by hand", limit_share_min=0.15),
    _stage("zip", 50),
    _stage("flat_map", 20),
    _stage("interleave(16)", None, other="16 cursors", limit_share_min=0.5),
    _stage("interleave(16), parallel", 20),
    _stage("window(10)", None, other="vectors of 10", limit_share_min=0.5),
    _stage("padded_batch(32)", None, other="rows copied", limit_share_min=0.5),
    _stage("cache", 20),
    _stage("map, 64-byte elements", None),
    _stage("shuffle(10000), 64-byte elements", None),
    _stage("batch(128), 64-byte elements", None),
    _stage("map, std::string", None),
    _stage("shuffle(10000), std::string", None),
    _stage("batch(128), std::string", None),
    Row("hold-back of an element every 20 ms, median", "engine", "ms",
        other="one hand-over", limit_share_min=0.25),
    Row("hold-back of an element every 20 ms, longest", "engine", "ms",
        other="one hand-over", limit_share_min=0.1),
    Row("parallel map, 10 us function", "engine", "calls/s", (), "two serial loops",
        higher_is_better=True, ratio_min=0.93),
    Row("parallel map, 1 ms function", "engine", "calls/s", (), "two serial loops",
        higher_is_better=True, ratio_min=0.93),
    Row("parallel map, consumer away", "engine", "calls/s", (), "two serial loops",
        higher_is_better=True, ratio_min=0.9),
    Row("parallel map, two TBB users in one process", "engine", "calls/s", (), "two serial loops",
        higher_is_better=True, ratio_min=0.9),
    Row("parallel map, function that sleeps 5 ms", "engine", "in flight", (), "the limit",
        higher_is_better=True, ratio_min=0.93),
    Row("resume at element 1,000,000 of shuffle(10000)", "engine", "ms",
        other="a million draws", limit_share_min=0.25),
]

MAIN = [
    Row("range | map x10", "main", "ns/element", ratio_min=1000, other="ten calls",
        limit_share_min=0.8),
    _rate("read, parse, batch: Fashion-MNIST shards", "images/s"),
    _rate("naive, augmented an image at a time", "images/s"),
    _rate("tuned, augmented an image at a time, as in tutorials", "images/s", ratio_min=30),
    _rate("tuned, the peer augments a batch at a time", "images/s", ratio_min=30),
]

def _read(name, ratio_min, peers=(TFDATA,)):
    return Row(name, "records", "records/s", peers, ratio_min=ratio_min, higher_is_better=True)


def _parse(name, ratio_min=10, peers=(TFDATA, DALI)):
    return Row(name, "records", "records/s", peers, other="two plain loops", ratio_min=ratio_min,
               ceiling_share_min=0.9, limit_share_min=0.7, higher_is_better=True)


def _columns(name):
    return Row(name, "records", "records/s", (), other="two plain loops", ratio_min=0.7,
               higher_is_better=True)


def _ceiling(name, **more):
    return Row(name, "records", "MB/s", (), higher_is_better=True, **more)


RECORDS = [
    _read("read, 784 B images, one core", 5),
    _read("read, 2 KB images, one core", 5),
    _read("read, 112 KB images, one core", 3),
    _read("read, gzip text, one core", 2.5),
    _read("read, one gzip file with flush points, two cores", 5),
    _parse("parse, 784 B images"),
    _parse("parse, 2 KB images"),
    _parse("parse, 112 KB images"),
    _parse("parse, 112 KB images, mapped"),
    # The plain loops leave the image where it was read; these copy it into the batch, as we must.
    Row("parse, 112 KB images, beside loops that fill rows", "records", "records/s", (),
        other="two loops, copying", ratio_min=0.7, higher_is_better=True),
    _parse("parse, 40 scalars"),
    _parse("parse, 768 floats"),
    _parse("parse, 512 tokens", 6),
    _parse("parse, 2 KB text"),
    _columns("columns, 784 B images"),
    _columns("columns, 2 KB images"),
    _columns("columns, 112 KB images"),
    _columns("columns, 112 KB images, mapped"),
    _columns("columns, 40 scalars"),
    _columns("columns, 768 floats"),
    _columns("columns, 512 tokens"),
    _columns("columns, 2 KB text"),
    _read("parse, gzip text", None),
    _read("parse, one gzip file with flush points", None),
    # Of these there are figures of ours alone.
    _read("parse, lz4 text", None, ()),
    _read("columns, gzip text", None, ()),
    _read("columns, lz4 text", None, ()),
    _ceiling("read, 784 B images, against the lower ceiling", other="memcpy or CRC", ratio_min=0.8),
    _ceiling("read, 2 KB images, against the lower ceiling", other="memcpy or CRC", ratio_min=0.8),
    _ceiling("read, 112 KB images, against the lower ceiling", other="memcpy or CRC",
             ratio_min=0.8),
    _ceiling("ceiling: memcpy of 2 KB, one core"),
    _ceiling("ceiling: CRC-32C of 2 KB, one core"),
]

CONVERT = [
    Row("convert Fashion-MNIST into 16 shards", "convert", "s",
        other="inflate and write", limit_share_min=0.5),
    Row("convert Fashion-MNIST, every shard synced", "convert", "s", ()),
    Row("convert 1 GiB into 16 shards, every shard synced", "convert", "MB/s", (),
        "one file, synced", higher_is_better=True, ratio_min=0.8),
]

IMAGE = [
    Row("decode, random resized crop, flip, normalise: batches of 128", "image", "images/s",
        (TFDATA, DALI, MLX, TORCHVISION), "two plain loops", ratio_min=1.8, best_peer=True,
        limit_share_min=0.9, higher_is_better=True),
]


def _text(name, peer, ratio_min):
    return Row(name, "text", "MB/s", (peer,), ratio_min=ratio_min, higher_is_better=True)


TEXT = [
    _text("csv to batches", PYARROW, 2),
    _text("csv to batches, from zstd", PYARROW, 1),
    _text("csv to batches, in the pipeline", TFDATA, 10),
    _text("json lines to batches", PYARROW, 5),
    _text("json lines to batches, from zstd", PYARROW, 1),
]

DEVICE = [
    Row("float32 product 512 x 512 x 512, one thread", "device", "GFLOP/s", (), "the FMA peak",
        higher_is_better=True, ratio_min=0.5),
    Row("convnet, a step of 128 images, one thread", "device", "ms", (PYTORCH, TENSORFLOW)),
]

PACK = [
    Row("documents packed into rows of 2048", "pack", "documents/s", (GRAIN,), ratio_min=20,
        higher_is_better=True),
    Row("rows of 2048 that are filled", "pack", "%", (GRAIN,), ratio_min=1, higher_is_better=True),
]



def _python(name, unit, peers, ratios_min=(), **more):
    return Row(name, "python", unit, peers, "the same in C++", higher_is_better=True, limit_share_min=0.9,
               ratios_min=ratios_min, in_python=True, **more)


_LOADERS = (TENSOR_LOADER, INDEX_LOADER, ITEM_LOADER, GRAIN, TFDATA, HUGGING_FACE, WEBDATASET, SPDL)
_LOADER_BARS = ((TENSOR_LOADER, 6), (ITEM_LOADER, 50), (GRAIN, 10), (TFDATA, 10))
PYTHON = [
    _python("shuffled images of records, batches of 128", "images/s", _LOADERS, _LOADER_BARS),
    _python("shuffled images of records, batches of 1024", "images/s", _LOADERS, _LOADER_BARS),
    _python("decode, random resized crop, flip, normalise: batches of 128", "images/s",
            (TFDATA, DALI, MLX, TORCHVISION, SPDL), ratio_min=1.8, best_peer=True),
    _python("documents packed into rows of 2048", "documents/s", (GRAIN,), ratio_min=20),
    _python("json lines of tokens to rows of 2048", "rows/s", (GRAIN,)),
    _python("csv of 40 features to batches of 1024", "rows/s", (TFDATA, PYARROW_ARRAYS, PANDAS, TORCH_LINES)),
    _python("csv to batches", "MB/s", (PYARROW,)),
    _python("json lines to batches", "MB/s", (PYARROW,)),
]

ROWS = {"main": MAIN, "engine": ENGINE, "records": RECORDS, "convert": CONVERT, "image": IMAGE,
        "text": TEXT, "pack": PACK, "device": DEVICE, "python": PYTHON}
