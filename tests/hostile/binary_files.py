"""Files byte by byte: records, and images, arrays and archives that claim much and have little."""

import pathlib
import struct
import tarfile
import zipfile
import zlib


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1))
    return crc ^ 0xFFFFFFFF


def masked(crc):
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def record(payload):
    length = struct.pack("<Q", len(payload))
    return (length + struct.pack("<I", masked(crc32c(length))) + payload
            + struct.pack("<I", masked(crc32c(payload))))


def field(number, data):
    """Of a protobuf message: bytes, a string or another message."""
    size, length = len(data), b""
    while size > 0x7F:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


def png(width, height, texts=0):
    """With that many texts of 7 MB, compressed."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    text = chunk(b"zTXt", b"x\0\0" + zlib.compress(bytes(7_000_000), 9)) if texts else b""
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + text * texts
            + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b""))


def write(folder, name, data):
    path = pathlib.Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def segment(kind, data):
    return b"\xff" + bytes([kind]) + struct.pack(">H", 2 + len(data)) + data


def progressive_jpeg(width, height, scans=1):
    """Three components of which each scan has nothing but its header."""
    frame = struct.pack(">BHHB", 8, height, width, 3) + b"".join(
        bytes([component, 0x11, 0]) for component in (1, 2, 3))
    table = b"\0" + bytes([1] + [0] * 15) + b"\0"
    scan = segment(0xDA, bytes([3, 1, 0, 2, 0, 3, 0, 0, 0, 0]))
    return (b"\xff\xd8" + segment(0xDB, b"\0" + b"\1" * 64) + segment(0xC2, frame)
            + segment(0xC4, table) + scan * scans + b"\xff\xd9")


def npy(shape, descr="<f4", data=b""):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def npz(members, compression=zipfile.ZIP_DEFLATED):
    """The bytes that zipfile writes, whose own objects take twenty times as long to make."""
    files, directory, packed = [], [], {}
    at = 0
    for name, data in members:
        if data not in packed:
            packer = zlib.compressobj(-1, zlib.DEFLATED, -15)
            body = packer.compress(data) + packer.flush() if compression == zipfile.ZIP_DEFLATED else data
            # Version, flags, method, the first day of 1980, checksum, sizes.
            packed[data] = struct.pack("<HHHHHIII", 20, 0, compression, 0, 0x21, zlib.crc32(data), len(body), len(data)), body
        about, body = packed[data]
        file_name = name.encode()
        files += [b"PK\3\4", about, struct.pack("<HH", len(file_name), 0), file_name, body]
        directory += [b"PK\1\2", struct.pack("<H", 0x0314), about,
                      struct.pack("<HHHHHII", len(file_name), 0, 0, 0, 0, 0o600 << 16, at), file_name]
        at += 30 + len(file_name) + len(body)
    listed = b"".join(directory)
    count = len(directory) // 5
    return b"".join([*files, listed, b"PK\5\6", struct.pack("<HHHHIIH", 0, 0, count, count, len(listed), at, 0)])


def gzipped(begin, byte, count):
    """The beginning and a byte so often; gzip takes a second for what is 256 times the same here."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = byte * (1 << 20)
    body = packer.compress(begin) + packer.flush(zlib.Z_FULL_FLUSH)
    body += (packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)) * (count >> 20) + packer.flush()
    crc = zlib.crc32(begin)
    for _ in range(count >> 20):
        crc = zlib.crc32(piece, crc)
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + body + struct.pack("<II", crc, len(begin) + count)


def npz_of_one_member(entries, size):
    """A directory whose entries all lead to the same compressed member."""
    array = npy(f"({size},)", "|u1", bytes(size))
    whole = npz([("a00000.npy", array)])
    place = struct.unpack_from("<I", whole, len(whole) - 6)[0]
    entry = whole[place:-22]
    directory = b"".join(entry.replace(b"a00000", b"a%05d" % i) for i in range(entries))
    end = bytearray(whole[-22:])
    struct.pack_into("<HHII", end, 8, entries, entries, len(directory), place)
    return whole[:place] + directory + bytes(end)


# Of an empty member without a name; the sum is that of the bytes but for the size, with blanks for the sum.
TAR_HEADER = tarfile.TarInfo("").tobuf(tarfile.USTAR_FORMAT)
TAR_HEADER_SUM = sum(TAR_HEADER[:124] + TAR_HEADER[135:148] + b" " * 8 + TAR_HEADER[156:])


def tar(members):
    """The bytes that tarfile writes, whose own headers take five times as long to make."""
    blocks = []
    for name, data in members:
        name_bytes = name.encode()
        size = b"%011o" % len(data)
        total = TAR_HEADER_SUM + sum(name_bytes) + sum(size)
        blocks += [name_bytes.ljust(100, b"\0"), TAR_HEADER[100:124], size, TAR_HEADER[135:148],
                   b"%06o\0 " % total, TAR_HEADER[156:], data, bytes(-len(data) % 512)]
    whole = b"".join(blocks) + bytes(1024)
    return whole + bytes(-len(whole) % tarfile.RECORDSIZE)


def tar_that_claims(size_field):
    """One member of a size that its header says in eight bytes (base 256), and nothing behind it."""
    header = bytearray(tar([("a.txt", b"x")])[:512])
    header[124:136] = b"\x80\0\0\0" + struct.pack(">Q", size_field)
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    return bytes(header)


def jpeg_folders(folder):
    """A folder of one class each."""
    for name, data in {"16000": progressive_jpeg(16_000, 16_000),
                       "65500": progressive_jpeg(65_500, 65_500),
                       "within": progressive_jpeg(8_000, 8_000),
                       "scans": progressive_jpeg(2_000, 2_000, 1_000)}.items():
        root = pathlib.Path(folder, f"jpeg-{name}")
        (root / "class").mkdir(parents=True)
        (root / "class" / "a.jpg").write_bytes(data)
        yield str(root), data


def array_files():
    """Names with what is in them."""
    empty = npy("(0,)")
    yield "rows.npy", npy("(18446744073709551615, 0)")
    yield "strings.npy", npy("(9223372036854775808, 4)", "|S9223372036854775808")
    yield "product.npy", npy("(4294967296, 4294967296, 4)")
    yield "negative.npy", npy("(-1, 4)")
    yield "claims.npy", npy("(1000000000000,)", "<f8", b"\0" * 80)
    yield "header.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{"
    yield "members.npz", npz([(f"a{i}.npy", empty) for i in range(20_000)])
    yield "stored.npz", npz([(f"a{i}.npy", empty) for i in range(20_000)], zipfile.ZIP_STORED)
    yield "bomb.npz", npz([("a.npy", npy("(1000, 100000)", "|u1", b"\0" * 100_000_000))])
    yield "rows.npz", npz([("a.npy", npy("(18446744073709551615, 0)"))])
    yield "one.npz", npz_of_one_member(850, 16 << 20)
    yield "cut.npz", npz([("a.npy", npy("(3,)", "<f4", b"\0" * 12))])[:-30]


def tar_files():
    yield "fields.tar", tar([(f"a.{i}", b"") for i in range(70_000)])
    yield "examples.tar", tar([(f"{i}.{i}", b"1") for i in range(30_000)])
    yield "hidden.tar", tar([(f"t/._{i}.txt", b"1") for i in range(30_000)])
    yield "archives.tar", tar([("a.txt", b"1")]) * 500
    yield "apart.tar", tar([(f"{i % 1000}.{i}", b"1") for i in range(30_000)])
    yield "size.tar", tar_that_claims((1 << 63) - 1)
    yield "wraps.tar", tar_that_claims((1 << 64) - 512)
    yield "above.tar", tar([("../../etc/a.txt", b"1"), ("/etc/b.txt", b"2")])
    yield "control.tar", tar([("\x1b]0;owned\x07.txt", b"1")])
