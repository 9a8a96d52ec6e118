from collections.abc import Callable
from typing import Any

def intrinsic(maker: Callable[..., Any], /) -> Any: ...

class _Intrinsic:
    _defn: Callable[..., Any]
