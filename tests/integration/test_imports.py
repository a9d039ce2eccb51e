"""What a fresh interpreter loads: nothing heavy before it is needed."""

import subprocess
import sys


def test_help_does_not_load_the_graph() -> None:
    """Heavy libraries are imported inside the commands."""
    heavy = ["langgraph", "langchain_core", "pydantic", "chromadb", "jinja2", "yaml"]
    program = (
        "import sys; import mendgraph.cli.main; "
        f"print([n for n in {heavy} if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_importing_is_quick():
    """The package's face loads nothing heavy."""
    code = (
        "import sys, mendgraph; "
        "heavy = {'chromadb', 'openai', 'langgraph', 'psycopg'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "[]"
