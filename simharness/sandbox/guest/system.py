"""The system calls on that folder, in the place of those of `posix`."""

# The program's objects are of any type, and nothing is known of them.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import errno
import io
import os
import posix
import stat
import sys
from typing import TYPE_CHECKING, Any

from simharness.sandbox.guest.folder import ROOT, Folder, Node, failure
from simharness.sandbox.guest.report import STDERR, STDOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simharness.sandbox.guest.clock import Clock, Entropy
    from simharness.sandbox.guest.report import Report

DESCRIPTORS_MAX = 256
NS = 1_000_000_000

# These look at nothing outside their arguments and the interpreter.
PURE = frozenset(
    """
    _create_environ _inputhook _is_inputhook_installed _path_normpath _path_splitroot_ex confstr
    cpu_count fspath getpid putenv sched_yield strerror uname unsetenv
    """.split()  # noqa: SIM905
)


class Open:
    """An open file."""

    __slots__ = ("at", "flags", "node", "path", "written")

    def __init__(self, path: str, node: Node, flags: int) -> None:
        self.path = path
        self.node = node
        self.flags = flags
        self.at = 0
        self.written = False


class Entry:
    """What `scandir` yields."""

    def __init__(self, folder: str, name: str, stats: Any) -> None:
        self.name = name
        self.path = os.path.join(folder, name)
        self._stats = stats

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def __fspath__(self) -> str:
        return self.path

    def inode(self) -> int:
        """Give the file's number."""
        return int(self._stats.st_ino)

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        """Give the file's status."""
        return self._stats

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Say whether it is a folder."""
        return stat.S_ISDIR(self._stats.st_mode)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Say whether it is a file."""
        return stat.S_ISREG(self._stats.st_mode)

    def is_symlink(self) -> bool:
        """Say no: there are none."""
        return False

    def is_junction(self) -> bool:
        """Say no: there are none."""
        return False


class Scan:
    """An iterator of entries that can be closed."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries: Iterator[Entry] = iter(entries)

    def __iter__(self) -> Scan:
        return self

    def __next__(self) -> Entry:
        return next(self._entries)

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Yield nothing more."""
        self._entries = iter(())


class System:
    """Each public method without an underscore is the system call of that name."""

    def __init__(self, folder: Folder, report: Report, clock: Clock, entropy: Entropy) -> None:
        self._folder = folder
        self._report = report
        self._clock = clock
        self._entropy = entropy
        self._open: dict[int, Open] = {}
        self._stdin = b""
        self._stdin_at = 0
        self._leave: Callable[[int], Any] = posix._exit  # pyright: ignore[reportPrivateUsage]

    def _begin(self, stdin: bytes) -> None:
        self._open = {}
        self._stdin = stdin
        self._stdin_at = 0

    def _finish(self) -> None:
        for found in self._open.values():
            self._sync(found)

    def _fd(self, fd: Any) -> Open:
        found = self._open.get(fd)
        if found is None:
            raise failure(errno.EBADF)
        return found

    # --- open files ---------------------------------------------------------------------------

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: Any = None) -> int:
        _no_dir_fd(dir_fd)
        writing = flags & os.O_ACCMODE not in (os.O_RDONLY,) or flags & (os.O_CREAT | os.O_TRUNC)
        folder = self._folder
        if writing:
            full, node = folder.parent(path, "write")
        else:
            full, node = folder.find(path)
        if node is None:
            if not flags & os.O_CREAT:
                raise failure(errno.ENOENT, path)
            node = folder.create(full, bytearray(), mode & 0o666, path)
        elif flags & os.O_CREAT and flags & os.O_EXCL:
            raise failure(errno.EEXIST, path)
        elif node.data is None and writing:
            raise failure(errno.EISDIR, path)
        elif node.data is not None and flags & os.O_DIRECTORY:
            raise failure(errno.ENOTDIR, path)
        found = Open(full, node, flags)
        if flags & os.O_TRUNC and node.data:
            folder.resize(node, 0)
            found.written = True
        if len(self._open) >= DESCRIPTORS_MAX:
            raise failure(errno.EMFILE, path)
        fd = next(n for n in range(3, DESCRIPTORS_MAX + 4) if n not in self._open)
        self._open[fd] = found
        return fd

    def close(self, fd: int) -> None:
        if fd in (0, 1, 2):
            return
        found = self._fd(fd)
        self._sync(found)
        del self._open[fd]

    def closerange(self, low: int, high: int, /) -> None:
        for fd in [n for n in self._open if low <= n < high]:
            self.close(fd)

    def _sync(self, found: Open) -> None:
        # A file that was removed while it was open is nobody's any more.
        if found.written and self._folder.nodes.get(found.path) is found.node:
            self._folder.tell_file(found.path)
        found.written = False

    def fsync(self, fd: int) -> None:
        if fd not in (1, 2):
            self._sync(self._fd(fd))

    def fdatasync(self, fd: int) -> None:
        self.fsync(fd)

    def read(self, fd: int, length: int, /) -> bytes:
        if fd == 0:
            data = self._stdin[self._stdin_at : self._stdin_at + length]
            self._stdin_at += len(data)
            return data
        found = self._fd(fd)
        data = self._at(found, found.at, length)
        found.at += len(data)
        return data

    def _at(self, found: Open, at: int, length: int) -> bytes:
        if found.node.data is None:
            raise failure(errno.EISDIR)
        if found.flags & os.O_ACCMODE == os.O_WRONLY:
            raise failure(errno.EBADF)
        if length < 0:
            raise failure(errno.EINVAL)
        return bytes(found.node.data[at : at + length])

    def readinto(self, fd: int, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(fd, len(view))
        view[: len(data)] = data
        return len(data)

    def pread(self, fd: int, length: int, offset: int, /) -> bytes:
        return self._at(self._fd(fd), offset, length)

    def write(self, fd: int, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        if fd in (STDOUT, STDERR):
            self._report.output(fd, bytes(view))
            return len(view)
        found = self._fd(fd)
        if found.node.data is None or found.flags & os.O_ACCMODE == os.O_RDONLY:
            raise failure(errno.EBADF)
        if found.flags & os.O_APPEND:
            found.at = len(found.node.data)
        self._put(found, found.at, view)
        found.at += len(view)
        return len(view)

    def _put(self, found: Open, at: int, data: Any) -> None:
        held = found.node.data
        assert held is not None
        if at + len(data) > len(held):
            self._folder.resize(found.node, at + len(data))
        held[at : at + len(data)] = data
        found.node.mtime_ns = self._folder.tick()
        found.written = True

    def pwrite(self, fd: int, data: Any, offset: int, /) -> int:
        found = self._fd(fd)
        if found.node.data is None or found.flags & os.O_ACCMODE == os.O_RDONLY:
            raise failure(errno.EBADF)
        view = memoryview(data).cast("B")
        self._put(found, offset, view)
        return len(view)

    def lseek(self, fd: int, offset: int, whence: int, /) -> int:
        if fd in (0, 1, 2):
            raise failure(errno.ESPIPE)
        found = self._fd(fd)
        size = len(found.node.data or b"")
        if whence not in (0, 1, 2):
            raise failure(errno.EINVAL)
        at = offset + (0, found.at, size)[whence]
        if at < 0:
            raise failure(errno.EINVAL)
        found.at = at
        return at

    def ftruncate(self, fd: int, length: int, /) -> None:
        found = self._fd(fd)
        if found.node.data is None or found.flags & os.O_ACCMODE == os.O_RDONLY or length < 0:
            raise failure(errno.EINVAL)
        self._folder.resize(found.node, length)
        found.written = True

    def truncate(self, path: Any, length: int) -> None:
        if isinstance(path, int):
            self.ftruncate(path, length)
            return
        fd = self.open(path, os.O_WRONLY)
        try:
            self.ftruncate(fd, length)
        finally:
            self.close(fd)

    def dup(self, fd: int, /) -> int:
        raise failure(errno.ENOSYS)

    def isatty(self, fd: int, /) -> bool:
        return False

    def get_inheritable(self, fd: int, /) -> bool:
        return False

    def set_inheritable(self, fd: int, inheritable: Any, /) -> None:
        return None

    def get_blocking(self, fd: int, /) -> bool:
        return True

    def set_blocking(self, fd: int, blocking: bool, /) -> None:
        return None

    def device_encoding(self, fd: int) -> None:
        return None

    # --- paths --------------------------------------------------------------------------------

    def stat(self, path: Any, *, dir_fd: Any = None, follow_symlinks: bool = True) -> Any:
        _no_dir_fd(dir_fd)
        if isinstance(path, int):
            return self.fstat(path)
        return _status(self._folder.find(path)[1])

    def lstat(self, path: Any, *, dir_fd: Any = None) -> Any:
        return self.stat(path, dir_fd=dir_fd)

    def fstat(self, fd: int) -> Any:
        if fd in (0, 1, 2):
            return _stats(stat.S_IFIFO | 0o600, 0, 0, self._clock.start_ns)
        return _status(self._fd(fd).node)

    def access(self, path: Any, mode: int, **options: Any) -> bool:
        try:
            full, node = self._folder.find(path)
        except OSError:
            return False
        if mode & os.W_OK and not self._folder.inside(full):
            return False
        return not (mode & os.X_OK and not node.mode & 0o111)

    def getcwd(self) -> str:
        return self._folder.cwd

    def getcwdb(self) -> bytes:
        return os.fsencode(self._folder.cwd)

    def chdir(self, path: Any) -> None:
        full, node = self._folder.find(path)
        if node.data is not None:
            raise failure(errno.ENOTDIR, path)
        self._folder.cwd = full

    def listdir(self, path: Any = None) -> list[Any]:
        full, node = self._folder.find("." if path is None else path)
        if node.data is not None:
            raise failure(errno.ENOTDIR, path)
        names = self._folder.children(full)
        if isinstance(path, bytes):
            return [os.fsencode(name) for name in names]
        return names

    def scandir(self, path: Any = None) -> Scan:
        shown = "." if path is None else os.fsdecode(path)
        full, node = self._folder.find(shown)
        if node.data is not None:
            raise failure(errno.ENOTDIR, path)
        nodes = self._folder.nodes
        base = "" if full == "/" else full
        names = self._folder.children(full)
        return Scan([Entry(shown, name, _status(nodes[f"{base}/{name}"])) for name in names])

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: Any = None) -> None:
        _no_dir_fd(dir_fd)
        full = self._folder.resolve(path)
        if full in self._folder.nodes:
            raise failure(errno.EEXIST, path)
        self._folder.parent(path, "write")
        self._folder.create(full, None, mode & 0o755, path)

    def rmdir(self, path: Any, *, dir_fd: Any = None) -> None:
        _no_dir_fd(dir_fd)
        full, node = self._folder.parent(path, "write")
        if node is None:
            raise failure(errno.ENOENT, path)
        if node.data is not None:
            raise failure(errno.ENOTDIR, path)
        if self._folder.children(full):
            raise failure(errno.ENOTEMPTY, path)
        self._folder.remove(full)

    def unlink(self, path: Any, *, dir_fd: Any = None) -> None:
        _no_dir_fd(dir_fd)
        full, node = self._folder.parent(path, "write")
        if node is None:
            raise failure(errno.ENOENT, path)
        if node.data is None:
            raise failure(errno.EISDIR, path)
        self._folder.remove(full)

    def remove(self, path: Any, *, dir_fd: Any = None) -> None:
        self.unlink(path, dir_fd=dir_fd)

    def rename(self, src: Any, dst: Any, *, src_dir_fd: Any = None, dst_dir_fd: Any = None) -> None:
        _no_dir_fd(src_dir_fd)
        _no_dir_fd(dst_dir_fd)
        source, node = self._folder.parent(src, "write")
        target, there = self._folder.parent(dst, "write")
        if node is None:
            raise failure(errno.ENOENT, src, dst)
        if source == target:
            return
        if target.startswith(f"{source}/"):
            raise failure(errno.EINVAL, src, dst)
        if there is not None and (there.data is None) != (node.data is None):
            raise failure(errno.EISDIR if there.data is None else errno.ENOTDIR, src, dst)
        if there is not None and there.data is None and self._folder.children(target):
            raise failure(errno.ENOTEMPTY, src, dst)
        self._folder.move(source, target)

    def replace(
        self, src: Any, dst: Any, *, src_dir_fd: Any = None, dst_dir_fd: Any = None
    ) -> None:
        self.rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def readlink(self, path: Any, *, dir_fd: Any = None) -> str:
        self._folder.find(path)
        raise failure(errno.EINVAL, path)

    def symlink(self, src: Any, dst: Any, *args: Any, **options: Any) -> None:
        raise failure(errno.EPERM, src, dst)

    def link(self, src: Any, dst: Any, **options: Any) -> None:
        raise failure(errno.EPERM, src, dst)

    def chmod(self, path: Any, mode: int, **options: Any) -> None:
        node = self._fd(path).node if isinstance(path, int) else self._folder.find(path)[1]
        node.mode = stat.S_IFMT(node.mode) | (mode & 0o777)

    def utime(self, path: Any, times: Any = None, *, ns: Any = None, **options: Any) -> None:
        node = self._fd(path).node if isinstance(path, int) else self._folder.find(path)[1]
        if ns is not None:
            node.mtime_ns = int(ns[1])
        elif times is not None:
            node.mtime_ns = int(times[1] * NS)
        else:
            node.mtime_ns = self._folder.tick()

    # --- the rest -----------------------------------------------------------------------------

    def urandom(self, size: int, /) -> bytes:
        return self._entropy.urandom(size)

    def times(self) -> Any:
        return posix.times_result((0.0, 0.0, 0.0, 0.0, self._clock.elapsed()))

    def abort(self) -> None:
        self._exit(134)

    def _exit(self, status: int) -> None:
        self._report.event("exit", int(status))
        # Nothing may run after this, no `finally` and no handler.
        self._leave(int(status))


def _no_dir_fd(dir_fd: Any) -> None:
    if dir_fd is not None:
        raise NotImplementedError("dir_fd unavailable on this platform")


def _status(node: Node) -> Any:
    return _stats(node.mode, node.number, len(node.data or b""), node.mtime_ns)


def _stats(mode: int, number: int, size: int, time_ns: int) -> Any:
    seconds = time_ns // NS
    exact = {
        f"st_{kind}{suffix}": value
        for kind in ("atime", "mtime", "ctime")
        for suffix, value in (("", time_ns / NS), ("_ns", time_ns))
    }
    row = (mode, number, 1, 1, 0, 0, size, seconds, seconds, seconds)
    return os.stat_result(row, exact)


def _absent(name: str) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        raise failure(errno.ENOSYS)

    call.__name__ = call.__qualname__ = name
    return call


def install(system: System) -> None:
    """Put the system's calls where Python and programs look for those of the machine."""
    shadows: dict[int, Any] = {}
    for name, old in list(vars(posix).items()):
        if not callable(old) or isinstance(old, type) or name in PURE or name.startswith("__"):
            continue
        shadows[id(old)] = getattr(system, name, None) or _absent(name)
    os.supports_dir_fd.clear()
    os.supports_fd.clear()
    os.supports_follow_symlinks.clear()
    os.environ.clear()
    os.environ.update({"HOME": ROOT, "LANG": "C.UTF-8", "PATH": "/usr/bin", "PWD": ROOT})
    _shadow_open(shadows)
    # Wherever a module holds one of them under a name of its own.
    for module in list(sys.modules.values()):
        for name, held in list(getattr(module, "__dict__", {}).items()):
            if id(held) in shadows:
                setattr(module, name, shadows[id(held)])


def _shadow_open(shadows: dict[int, Any]) -> None:
    """Let files be opened by the pure-Python raw file, which asks `os`; what buffers it is C."""
    import _pyio  # type: ignore[import-not-found]

    pyio: Any = _pyio
    for name in ("BufferedReader", "BufferedWriter", "BufferedRandom", "TextIOWrapper"):
        setattr(pyio, name, getattr(io, name))
    io.RawIOBase.register(pyio.FileIO)
    shadows[id(io.open)] = pyio.open
    shadows[id(io.FileIO)] = pyio.FileIO
    shadows[id(io.open_code)] = pyio.open_code
