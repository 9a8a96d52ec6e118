from typing import Any

int64: Any
uint64: Any
boolean: Any
