"""The service: models that predict, forget and prove it, over HTTP. See docs/service.md."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("fastapi") is None or find_spec("uvicorn") is None:
    raise ImportError("The service needs FastAPI and uvicorn: pip install 'deciduous[service]'")
