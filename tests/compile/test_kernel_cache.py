"""Machine code on disk is used exactly while all that it was made from is the same."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib
import io
import os
import pickle
import re
import shutil
import subprocess
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
import pytest

try:
    import pwd
except ImportError:  # on Windows
    pwd = None  # type: ignore[assignment]

import sklearn_ltr
from sklearn_ltr._core.compile import (
    INTERPRETED,
    cache,
    kernel,
    keys,
    subkernel,
    uint64,
)
from sklearn_ltr._core.compile.kernels import USES_INTERNALS
from sklearn_ltr._core.compile.keys import UnknownContentError, kernel_key

pytestmark = pytest.mark.skipif(not USES_INTERNALS, reason="nothing is stored")


@pytest.mark.parametrize("writable", [True, False])
def test_the_place_of_the_last_stored_kernel_is_known(writable, tmp_path, monkeypatch):
    """Each room of the package has its own; none, if the package cannot be written."""
    package = tmp_path / "package"

    class Folders(cache.KernelCache):
        _folders = dict.fromkeys(
            [str(package / "a" / "__pycache__"), str(tmp_path / "user")], True
        )

    def write(path, content):
        if "__pycache__" in path and not writable:
            raise PermissionError(path)

    monkeypatch.setattr(cache, "PACKAGE", str(package))
    monkeypatch.setattr(cache.TELLER, "place", "")
    monkeypatch.setattr(cache, "_write", write)
    monkeypatch.setattr(Folders, "_file_name", lambda *_: "kernel.nbc")
    monkeypatch.setattr(cache, "packed", lambda _: b"")
    library = types.SimpleNamespace(has_dynamic_globals=False)
    result = types.SimpleNamespace(library=library, codegen=None, _reduce=tuple)
    Folders(None).save_overload("(double,)", result)
    place = f"the __pycache__ folders of {package}" if writable else tmp_path / "user"
    assert cache.TELLER.place == str(place)


CALLEES = '''
"""What the kernel calls."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from sklearn_ltr._core.compile import subkernel

FACTOR = 2.0
TABLE = np.array([100.0, 300.0])
TUPLE = (1, 2.0)
UNUSED = 1.0


class Point(NamedTuple):
    """A point."""

    x: float
    y: float


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@subkernel
def scale(x):
    """Scale a number."""
    return FACTOR * shift(x) + TUPLE[1]  # a comment


@subkernel
def shift(x, by=0.5):
    return x + by + TABLE[0] + (1.0 if Level.HIGH > 2 else 0.0)


def unused():
    return 0
'''

KERNELS = '''
"""A kernel."""

from callees import Point, scale

from sklearn_ltr._core.compile import kernel


@kernel
def compute(x, point):
    return scale(x) + 1000.0 * point.x + 10_000.0 * point.y


@kernel
def swap(point):
    return Point(point.y, point.x)
'''


def written(folder: Path, callees: str = CALLEES, kernels: str = KERNELS) -> Path:
    """Write the two files, always with the same time stamp."""
    folder.mkdir(exist_ok=True)
    for name, source in (("callees", callees), ("kernels", kernels)):
        path = folder / f"{name}.py"
        path.write_text(source)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return folder


def imported(folder: Path) -> types.ModuleType:
    """Import the kernels as a new process would."""
    for name in ("callees", "kernels"):
        module = types.ModuleType(name)
        path = folder / f"{name}.py"
        module.__file__ = str(path)
        sys.modules[name] = module
        # as an import does, without what this file imports from the future
        code = compile(path.read_text(), path, "exec", dont_inherit=True)
        exec(code, vars(module))
    return module


def computed(folder: Path) -> tuple[float, bool]:
    """Call the kernel in newly imported files: its result, and if it was compiled."""
    kernels = imported(folder)
    result = kernels.compute(1.0, sys.modules["callees"].Point(1.0, 2.0))
    stats = kernels.compute.stats
    assert len(stats.cache_hits) + len(stats.cache_misses) == 1
    return result, bool(stats.cache_misses)


FIRST = 2.0 * (1.0 + 0.5 + 100.0) + 2.0 + 1000.0 + 20_000.0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of the two files, with an empty cache of their own."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_WARNED", set())
    for name in ("callees", "kernels"):
        monkeypatch.setitem(sys.modules, name, None)
    return written(tmp_path / "source")


def files(folder: Path) -> list[Path]:
    """Return the files of the cache."""
    return sorted((folder.parent / "cache").rglob("*.nbc"))


def test_a_kernel_is_compiled_once(folder):
    assert computed(folder) == (FIRST, True)
    (file,) = files(folder)
    written_at = file.stat().st_mtime_ns
    assert computed(folder) == (FIRST, False)
    assert files(folder) == [file]
    assert file.stat().st_mtime_ns == written_at


CHANGES = {
    "a constant": ("FACTOR = 2.0", "FACTOR = 4.0", FIRST + 2.0 * 101.5),
    "a constant of another type": ("TUPLE = (1, 2.0)", "TUPLE = (1, 2)", FIRST),
    "an array": ("TABLE = np.array([100.0", "TABLE = np.array([101.0", FIRST + 2.0),
    "an array's dtype": ("300.0])", "300.0], dtype=np.float32)", FIRST),
    "a tuple": ("TUPLE = (1, 2.0)", "TUPLE = (1, 3.0)", FIRST + 1.0),
    "a sub-kernel": ("FACTOR * shift(x) +", "FACTOR * shift(x) -", FIRST - 4.0),
    "a sub-kernel's sub-kernel": ("return x + by", "return x - by", FIRST - 2.0),
    "a default": ("by=0.5", "by=1.5", FIRST + 2.0),
    "the order of fields": (
        "    x: float\n    y: float",
        "    y: float\n    x: float",
        FIRST - 9000.0,
    ),
    "an enum": ("HIGH = 2", "HIGH = 3", FIRST + 2.0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_kernel_is_compiled_again_after_a_change_in_another_file(folder, change):
    old, new, result = CHANGES[change]
    assert CALLEES.count(old) == 1
    assert computed(folder) == (FIRST, True)
    written(folder, CALLEES.replace(old, new))
    assert computed(folder) == (result, True)
    assert computed(folder) == (result, False)
    written(folder)  # both versions are there now
    assert computed(folder) == (FIRST, False)
    assert len(files(folder)) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment", "# another comment"),
        ('"""Scale a number."""', '"""Multiply a number."""'),
        ('    """Scale a number."""\n', ""),
        ('"""What the kernel calls."""', '"""What it calls."""\n\n\n\n'),
        ("UNUSED = 1.0", "UNUSED = 2.0"),
        ("    return 0\n", "    return 1\n\n\ndef more():\n    return 2\n"),
        ("LOW = 1\n    HIGH = 2", '"""Doc."""\n\n    LOW = 1\n    HIGH = 2'),
    ],
    ids=["comment", "docstring", "no docstring", "lines", "constant", "code", "class"],
)
def test_a_kernel_is_not_compiled_again_for_what_it_does_not_use(folder, old, new):
    assert CALLEES.count(old) == 1
    assert computed(folder) == (FIRST, True)
    written(folder, CALLEES.replace(old, new))
    assert computed(folder) == (FIRST, False)


def test_fields_of_an_argument_count_though_the_kernel_does_not_name_their_class(
    folder,
):
    """Here the class is not even a global of the kernel's file."""
    assert "Point" in KERNELS
    kernels = KERNELS.replace("import Point, scale", "import scale").split("@kernel")
    written(folder, kernels="@kernel".join(kernels[:2]))
    assert computed(folder) == (FIRST, True)
    swapped = CALLEES.replace("x: float\n    y: float", "y: float\n    x: float")
    written(folder, swapped, "@kernel".join(kernels[:2]))
    assert computed(folder) == (FIRST - 9000.0, True)


def test_versions_and_settings_are_in_the_names_of_files(folder, monkeypatch):
    computed(folder)
    for package in (numba, llvmlite):
        release = ".".join(package.__version__.split(".")[:2])
        for version, is_other in (("1.2.3", True), (f"{release}.99", False)):
            with monkeypatch.context() as context:
                context.setattr(package, "__version__", version)
                keys._versions.cache_clear()
                assert computed(folder) == (FIRST, is_other)
            keys._versions.cache_clear()
    with monkeypatch.context() as context:
        context.setattr(numba.config, "BOUNDSCHECK", 1)
        assert computed(folder) == (FIRST, True)
    codegen = type(numba.core.registry.cpu_target.target_context.codegen())
    with monkeypatch.context() as context:
        context.setattr(codegen, "_get_host_cpu_name", lambda self: "another")
        assert computed(folder) == (FIRST, True)
    assert computed(folder) == (FIRST, False)
    assert len(files(folder)) == 1 + 4  # and one of each change


def test_functions_that_call_each_other_in_a_circle_have_a_key(folder):
    source = """
    from sklearn_ltr._core.compile import kernel, subkernel
    @subkernel
    def even(n): return n == 0 or odd(n - 1)
    @subkernel
    def odd(n): return n != 0 and even(n - 1)
    @kernel
    def is_even(n): return even(n)
    """
    keys = set()
    for change in ("", "- 2", "- 4"):
        namespace = {"__name__": "circle"}
        changed = source.replace("n - 1)\n    @kernel", f"n - 1 {change})\n    @kernel")
        exec(textwrap.dedent(changed), namespace)
        keys.add(kernel_key(namespace["is_even"]))
    assert len(keys) == 3


def test_two_functions_of_one_name_are_not_taken_for_each_other():
    def key(first: float, second: float) -> str:
        def made(factor):
            @subkernel
            def times(x):
                return factor * x

            return times

        a, b = made(first), made(second)

        @kernel
        def difference(x):
            return a(x) - b(x)

        return kernel_key(difference)

    assert key(2.0, 3.0) != key(3.0, 2.0)
    assert key(2.0, 3.0) == key(2.0, 3.0)


ALL_KEYS = """
import importlib, pkgutil, sklearn_ltr
from sklearn_ltr._core.compile import KERNELS
from sklearn_ltr._core.compile.cache import kernel_key
for module in pkgutil.walk_packages(sklearn_ltr.__path__, "sklearn_ltr."):
    if module.name.rpartition(".")[2] not in ("__main__", "spark", "torch"):
        importlib.import_module(module.name)
keys = {
    name: kernel_key(kernel)
    for name, kernel in sorted(KERNELS.items())
    if name.startswith("sklearn_ltr.")
}
"""


@pytest.mark.slow
def test_every_kernel_of_the_package_has_a_key_that_is_the_same_in_every_process():
    here: dict[str, Any] = {}
    exec(ALL_KEYS, here)
    package = Path(sklearn_ltr.__file__).parent
    decorator = re.compile(r"^@(?:\w+_)?kernel\b.*\n(?:@.*\n)*def (\w+)", re.M)
    decorated = {
        f"sklearn_ltr.{'.'.join(path.relative_to(package).with_suffix('').parts)}.{name}"
        for path in package.rglob("*.py")
        for name in decorator.findall(path.read_text("utf-8"))
    }
    policies = re.compile(r'growth_kernel\(\s*"(\w+)"')
    grown = {
        f"sklearn_ltr._core.trees.growth.loop.{name}"
        for path in package.rglob("*.py")
        for name in policies.findall(path.read_text("utf-8"))
    }
    assert len(grown) == 4
    assert decorated | grown == set(here["keys"])
    there = run_script(ALL_KEYS + "print(keys)", PYTHONHASHSEED="1")
    assert there == f"{here['keys']}\n"


class Unknown:
    """What no key says anything about."""

    value = 2


UNKNOWN = Unknown()


def test_a_kernel_whose_content_is_unknown_is_compiled_and_not_stored(folder):
    @kernel
    def use_unknown(x):
        if INTERPRETED:
            return UNKNOWN.value
        return x + 2

    with pytest.raises(UnknownContentError, match="Unknown"):
        kernel_key(use_unknown)
    with pytest.warns(UserWarning, match="use_unknown is not stored.*Unknown") as seen:
        assert use_unknown(1) == 3
        assert use_unknown(1.0) == 3.0
    assert len(seen) == 1
    assert files(folder) == []


# --- folders ------------------------------------------------------------------------


def run_script(script: str, **environment: str) -> str:
    """Run a script in a new process and return what it printed."""
    names = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    inherited = {name: os.environ[name] for name in os.environ if name not in names}
    return subprocess.run(
        [sys.executable, "-B", "-W", "always", "-c", script],
        env=inherited | environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def set_user_cache(monkeypatch, path):
    """Let the cache be beside the source, or else in a folder of the user's."""
    with contextlib.suppress(OSError):
        path.mkdir()  # a home that is missing is not made
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(path))


@pytest.mark.parametrize("layout", ["NUMBA_CACHE_DIR", "beside the source", "of user"])
def test_a_file_is_stored_in_the_first_folder_that_can_be_written(
    folder, monkeypatch, tmp_path, layout
):
    stored = tmp_path / "cache"
    if layout != "NUMBA_CACHE_DIR":
        set_user_cache(monkeypatch, tmp_path / "user")
        stored = folder / "__pycache__"
    if layout == "of user":  # as if the package's folder could not be written
        stored.write_text("")
        stored = tmp_path / "user"
    assert computed(folder) == (FIRST, True)
    written(folder, CALLEES.replace("FACTOR = 2.0", "FACTOR = 4.0"))
    assert computed(folder) == (FIRST + 203.0, True)
    assert computed(folder) == (FIRST + 203.0, False)
    assert len(list(stored.rglob("*.nbc"))) == 2
    assert len(list(tmp_path.rglob("*.nbc"))) == 2


@pytest.mark.parametrize("layout", ["NUMBA_CACHE_DIR", "read-only", "zip"])
def test_without_a_folder_to_write_kernels_work_with_one_warning(
    folder, monkeypatch, tmp_path, layout
):
    """The warning comes when a kernel is compiled, not at import."""
    obstacle = tmp_path / "file"
    obstacle.write_text("")
    set_user_cache(monkeypatch, obstacle / "user")
    if layout == "NUMBA_CACHE_DIR":
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(obstacle / "cache"))
    if layout == "zip":
        zipped = shutil.make_archive(str(tmp_path / "zipped"), "zip", folder)
        monkeypatch.syspath_prepend(zipped)
        del sys.modules["callees"], sys.modules["kernels"]
        kernels = importlib.import_module("kernels")
    else:
        (folder / "__pycache__").write_text("")
        kernels = imported(folder)
    point = sys.modules["callees"].Point(1.0, 2.0)
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR") as caught:
        assert kernels.compute(1.0, point) == FIRST
        kernels.swap(point)
    assert len(caught) == 1


@pytest.mark.slow
def test_the_package_works_from_a_zip_file(tmp_path):
    """With the cache of a package in a folder: what counts is the content."""
    package = Path(sklearn_ltr.__file__).parent
    ignore = shutil.ignore_patterns("__pycache__", "*.nbc", "*.nbi")
    shutil.copytree(package, tmp_path / "copy" / "sklearn_ltr", ignore=ignore)
    zipped = shutil.make_archive(str(tmp_path / "zipped"), "zip", tmp_path / "copy")
    script = """
    import sys
    sys.path.insert(0, {path!r})
    import sklearn_ltr
    from sklearn_ltr.metrics import get_metric
    assert sklearn_ltr.__file__.startswith({path!r}), sklearn_ltr.__file__
    if not {path!r}.endswith("zip"):  # importing the package touches no cache
        import os
        assert not os.path.exists(os.environ["NUMBA_CACHE_DIR"])
    metric = get_metric("precision@1")
    print(metric([1, 0], [0.0, 1.0], groups=[0, 0]))
    """
    for path in (str(tmp_path / "copy"), zipped):
        source = textwrap.dedent(script).format(path=path)
        assert run_script(source, NUMBA_CACHE_DIR=str(tmp_path / "cache")) == "0.0\n"
        if path != zipped:
            before = sorted(tmp_path.rglob("*.nbc"))
    assert sorted(tmp_path.rglob("*.nbc")) == before != []


# --- folders and files of other users -------------------------------------------------

OTHER = 54_321  # a user


@pytest.fixture
def belongs(monkeypatch):
    """Let files and folders, or what is read of them (None), belong to another user."""
    owner, others = cache._owner, []

    def pretend(file):
        is_read = isinstance(file, int)
        if (None if is_read else os.fspath(file)) in others:
            return OTHER
        return owner(file)

    monkeypatch.setattr(cache, "_owner", pretend)
    return lambda *files: others.extend(f and os.fspath(f) for f in files)


def stored(tmp_path: Path) -> set[str]:
    """Return the folders that hold kernels or claims to compile them."""
    files = [*tmp_path.rglob("*.nbc"), *tmp_path.rglob(".claims")]
    return {str(file.parent.relative_to(tmp_path)) for file in files}


def test_nothing_is_stored_beside_the_sources_of_another_user(
    folder, monkeypatch, tmp_path, belongs
):
    """Such as by root in a user's checkout; but what is there is read."""
    set_user_cache(monkeypatch, tmp_path / "user")
    belongs(folder)
    assert computed(folder) == (FIRST, True)
    assert len(stored(tmp_path)) == 1
    assert stored(tmp_path) < {f"user/{name}sklearn_ltr" for name in ("", "numba/")}
    (file,) = tmp_path.rglob("*.nbc")
    (folder / "__pycache__").mkdir()
    file.rename(folder / "__pycache__" / file.name)
    assert computed(folder) == (FIRST, False)


def test_a_file_of_another_user_is_compiled_again(folder, belongs):
    """It may be any code.  What the owner of the source has stored may be run."""
    computed(folder)
    belongs(None)
    with pytest.warns(UserWarning, match="belongs to another user") as caught:
        assert computed(folder) == (FIRST, True)
        assert computed(folder) == (FIRST, True)
    assert len(caught) == 1
    belongs(folder / "kernels.py")
    assert computed(folder) == (FIRST, False)


def test_a_shared_folder_has_one_folder_for_each_user(folder, tmp_path, belongs):
    shared = tmp_path / "cache" / "sklearn_ltr"
    computed(folder)
    assert stored(tmp_path) == {"cache/sklearn_ltr"}
    belongs(shared)
    assert computed(folder) == (FIRST, True)
    assert computed(folder) == (FIRST, False)
    assert stored(tmp_path) == {
        "cache/sklearn_ltr", f"cache/sklearn_ltr-{cache._this_user()}"
    }  # fmt: skip


HOMES = {
    "missing": {"HOME": "missing"},
    "another user's": {"HOME": "others"},
    "unknown": {"HOME": None},
    "an empty cache": {"XDG_CACHE_HOME": ""},
    "a relative cache": {"XDG_CACHE_HOME": "relative"},
}


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="other variables")
@pytest.mark.parametrize("home", HOMES)
def test_without_a_home_kernels_work_with_one_warning(
    folder, monkeypatch, tmp_path, belongs, home
):
    """And no file is written: no home is made, nor a folder in the present one."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)  # an id without a name
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    (tmp_path / "others").mkdir()
    for name, value in HOMES[home].items():
        if value is None:
            monkeypatch.delenv(name)
        else:
            path = str(tmp_path / value) if name == "HOME" else value
            monkeypatch.setenv(name, path)
    belongs(folder, tmp_path / "others")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR") as caught:
        assert computed(folder) == (FIRST, True)
        assert computed(folder) == (FIRST, True)
    assert len(caught) == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.name == "nt", reason="no umask")
@pytest.mark.parametrize(("umask", "mode"), [(0o000, 0o644), (0o077, 0o600)])
def test_others_may_read_a_file_at_most_and_may_never_change_it(folder, umask, mode):
    before = os.umask(umask)
    try:
        computed(folder)
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    (file,) = files(folder)
    assert file.stat().st_mode & 0o777 == mode


TWO_VERSIONS = """
import sklearn_ltr
from sklearn_ltr._core.compile.kernels import KERNELS
from sklearn_ltr.metrics import precision_score
value = precision_score([1, 0], [0.0, 1.0], groups=[0, 0], k=1)
misses = sum(sum(kernel.stats.cache_misses.values()) for kernel in KERNELS.values())
print(sklearn_ltr.__version__, value, misses)
"""


@pytest.mark.slow
def test_two_versions_share_a_folder(tmp_path):
    """Each reads what it has stored, and neither changes a file of the other."""
    package, cached = Path(sklearn_ltr.__file__).parent, tmp_path / "cache"
    ignore = shutil.ignore_patterns("__pycache__", "*.nbc", "*.nbi")
    kept: dict[Path, int] = {}
    for version in ("0.2.9", "0.4.0"):
        copy = tmp_path / version
        shutil.copytree(package, copy / "sklearn_ltr", ignore=ignore)
        about = copy / f"sklearn_ltr-{version}.dist-info"
        about.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: sklearn_ltr\nVersion: {version}\n"
        (about / "METADATA").write_text(metadata)
    for first in (True, False):
        for version in ("0.2.9", "0.4.0"):
            environment = {"PYTHONPATH": str(tmp_path / version)}
            line = run_script(TWO_VERSIONS, NUMBA_CACHE_DIR=str(cached), **environment)
            found, value, misses = line.split()
            assert (found, value, int(misses) > 0) == (version, "0.0", first)
            now = {file: file.stat().st_mtime_ns for file in cached.rglob("*.nbc")}
            assert kept.items() <= now.items()
            assert (len(now) > len(kept)) == first
            kept = now


# --- files that cannot be read or written -------------------------------------------


def damaged(content: bytes, how: str) -> bytes:
    if how == "empty":
        return b""
    if how == "truncated":
        return content[:-100]
    if how == "one bit":
        return content[:5000] + bytes([content[5000] ^ 1]) + content[5001:]
    payload = {
        "not a pickle": b"not a pickle",
        "another object": pickle.dumps(("not", "machine", "code")),
        "a class that has gone": b"cno_such_module\nGone\n.",
    }[how]
    return hashlib.sha256(payload).digest() + payload


@pytest.mark.parametrize(
    "how",
    [
        "empty",
        "truncated",
        "one bit",
        "not a pickle",
        "another object",
        "a class that has gone",
    ],
)
def test_a_damaged_file_is_replaced_with_a_warning(folder, how):
    computed(folder)
    (file,) = files(folder)
    content = file.read_bytes()
    file.write_bytes(damaged(content, how))
    with pytest.warns(UserWarning, match="cannot be used") as caught:
        assert computed(folder) == (FIRST, True)
    assert str(file) in str(caught[0].message)
    assert len(caught) == 1
    assert files(folder) == [file]
    assert computed(folder) == (FIRST, False)
    file.write_bytes(damaged(content, how))  # once is enough, however many kernels
    assert computed(folder) == (FIRST, True)


@pytest.fixture
def refuse_writes(monkeypatch):
    """Let every attempt to write a file of the cache fail half-way."""

    def refuse(number):
        def replace(source, target):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(cache.os, "replace", replace)

    return refuse


def test_a_full_disk_leaves_no_part_of_a_file_and_the_next_folder_is_used(
    folder, monkeypatch, tmp_path
):
    class Full(io.FileIO):
        def write(self, content):
            super().write(content[:100])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def open_on_disk(path, mode="r", **options):
        if mode == "xb" and "__pycache__" in path:
            return Full(path, mode)
        return open(path, mode, **options)

    set_user_cache(monkeypatch, tmp_path / "user")
    monkeypatch.setattr(cache, "open", open_on_disk, raising=False)
    assert computed(folder) == (FIRST, True)
    assert computed(folder) == (FIRST, False)
    assert len(list(tmp_path.rglob("*.nbc*"))) == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_file_that_cannot_be_written_is_passed_over_with_one_warning(
    folder, refuse_writes, number
):
    refuse_writes(number)
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR") as caught:
        assert computed(folder) == (FIRST, True)
        assert computed(folder) == (FIRST, True)
    assert len(caught) == 1
    assert list((folder.parent / "cache").rglob("*.nbc*")) == []


def test_a_file_that_another_process_has_stored_meanwhile_needs_no_warning(
    folder, monkeypatch
):
    """On Windows, a file that another process reads cannot be replaced."""

    def replace(source, target):
        shutil.copy(source, target)
        raise PermissionError(errno.EACCES, "in use")

    monkeypatch.setattr(cache.os, "replace", replace)
    assert computed(folder) == (FIRST, True)
    assert computed(folder) == (FIRST, False)
    assert len(files(folder)) == 1


def test_a_cache_beside_the_source_is_used_though_only_the_users_can_be_written(
    folder, monkeypatch, tmp_path
):
    set_user_cache(monkeypatch, tmp_path / "user")
    assert computed(folder) == (FIRST, True)
    write = cache._write

    def write_elsewhere(path, content):
        if Path(path).is_relative_to(folder):
            raise PermissionError
        write(path, content)

    monkeypatch.setattr(cache, "_write", write_elsewhere)
    assert computed(folder) == (FIRST, False)
    written(folder, CALLEES.replace("FACTOR = 2.0", "FACTOR = 4.0"))
    assert computed(folder) == (FIRST + 203.0, True)
    assert computed(folder) == (FIRST + 203.0, False)
    assert len(list((folder / "__pycache__").glob("*.nbc"))) == 1
    assert len(list((tmp_path / "user").rglob("*.nbc"))) == 1


# --- sub-kernels --------------------------------------------------------------------


@subkernel
def double(x):
    """Return twice a number."""
    return 2 * x


@kernel
def quadruple(x):
    return double(double(x))


@subkernel
def sum_squares(x):
    total = 0.0
    for i in range(uint64(len(x))):
        total += x[i] * x[i]
    return total


def test_a_sub_kernel_called_from_python_raises_instead_of_crashing():
    for arguments in ((), (1.0,), (1, 2)):
        with pytest.raises(TypeError, match="double is compiled for kernels only"):
            double(*arguments)
    with pytest.raises(TypeError, match="sum_squares is compiled for kernels only"):
        sum_squares(x=np.ones(3))
