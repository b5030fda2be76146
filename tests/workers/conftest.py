"""What pyspark needs in test processes."""

import sys

# Where the main module has no file, as in the processes of pytest-xdist, pyspark takes this for its own tests and
# looks for a distribution of Spark; not so in an interactive session.
if not hasattr(sys.modules["__main__"], "__file__"):
    sys.ps1 = ">>> "
