"""Folders of machine code. There is a file for each kernel and its types, named by all that it follows from.

A file that is found is therefore right, wherever it was copied from; what has changed has another name.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, cast
from weakref import WeakSet

from numba.core import serialize
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys

from core.kernels import folders
from core.kernels.identity import identity
from core.kernels.processors import compiled_for, read_for
from graphveil.loading import uncollected

SIGNATURE = 3
"""Its place in what Numba makes of a compiled function."""

_dumps: Callable[[Any], bytes] = serialize.dumps


class Store(_Cache):
    """What one kernel was compiled to, kept as Numba asks for it."""

    made: ClassVar[Path | None] = None
    """The folder that this process fills, for others to read: then it reads and writes that alone."""
    used: ClassVar[set[Path]] = set()
    """The files that this process read or wrote."""

    every: ClassVar[WeakSet[Store]] = WeakSet()

    def __init__(self, kernel: Dispatcher) -> None:
        self.every.add(self)
        self._kernel = kernel
        self._name = f"{kernel.py_func.__module__.rpartition('.')[2]}.{kernel.py_func.__name__}"

    @property
    def cache_path(self) -> str:
        """Where new code goes."""
        return str(self.made or folders.own())

    @cached_property
    def identity(self) -> str:
        """The digest of what the code follows from."""
        return identity(self._kernel)

    def read(self) -> None:
        """Read all that was compiled for this kernel, which is not called. Its calls find it then."""
        places = self._folders(self._kernel.targetctx)
        kept = {path.name: path for place in places for path in place.glob(f"{self._name}-*")}
        for name, path in kept.items():
            with suppress(Exception):  # what another version of Numba kept may be unreadable
                signature = pickle.loads(path.read_bytes())[SIGNATURE]
                if self._file(signature) == name:  # else of another function of the name, or of other code
                    self._kernel.compile(signature.args)

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Read what was compiled for these types. None where no folder has it."""
        rtsys.initialize(target_context)
        for folder in self._folders(target_context):
            path = folder / self._file(sig)
            try:
                payload = path.read_bytes()
            except OSError:
                continue
            self.used.add(path)
            rebuilt: Any = CompileResult
            with uncollected():  # what it names of Numba is loaded with it
                return cast(CompileResult, rebuilt._rebuild(target_context, *pickle.loads(payload)))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled. It is kept where the folder can be written: elsewhere it is compiled
        again."""
        if data.lifted or data.library.has_dynamic_globals:
            raise TypeError(f"{self._name} cannot be kept: it holds addresses of this process")
        *parts, _, reload_init, environments = data._reduce()
        payload = _dumps((*parts, "", reload_init, environments))  # no listing of types
        path = Path(self.cache_path) / compiled_for(data.codegen) / self._file(sig)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o755 if self.made else 0o700)
            # Written beside its place and renamed: readers find a whole file or none.
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(payload)
            # A temporary file is its maker's alone; shipped ones are read by others.
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
            self.used.add(path)

    def enable(self) -> None:
        """Do nothing: a kernel is always kept."""

    def disable(self) -> None:
        """Do nothing: a kernel is always kept."""

    def flush(self) -> None:
        """Do nothing: a file holds for ever what its name says."""

    def _folders(self, target_context: Any) -> Iterator[Path]:
        for folder in (self.made,) if self.made else (folders.SHIPPED, folders.own()):
            for processor in read_for():
                yield folder / processor
        if not self.made:
            yield folders.own() / compiled_for(target_context.codegen())

    def _file(self, sig: Any) -> str:
        types = tuple(getattr(sig, "args", sig))
        digest = hashlib.sha256(f"{self.identity}{types}".encode()).hexdigest()
        return f"{self._name}-{digest[:32]}"
