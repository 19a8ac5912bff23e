"""`python -m deciduous.demo`."""

from .command import main

raise SystemExit(main())
