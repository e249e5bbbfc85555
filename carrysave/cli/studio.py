"""``carrysave studio``."""

import json
from typing import Annotated

from cyclopts import Parameter

from carrysave.cli.options import Folder, Json, console, output_folder
from carrysave.errors import needs

__all__ = ["studio"]


def studio(
    *,
    port: Annotated[
        int, Parameter(help="Port to listen on, 1024..65535; 0: any that is free.")
    ] = 0,
    no_browser: Annotated[
        bool, Parameter(name="--no-browser", show_default=False, help="Open no browser.")
    ] = False,
    output: Folder = None,
    json_: Json = False,
) -> int:
    """Choose a design, set its parameters and see what it is, on a page in the browser.

    The page is of this machine alone, 127.0.0.1, and of those who have the token in the address
    that is printed. It writes into OUTPUT/studio. Ctrl-C ends it.

    **Examples:**

    - `carrysave studio`
    - `carrysave studio --port 8000 --no-browser`
    """
    needs("tornado")
    from carrysave.studio.server import serve  # slow to load

    folder = output_folder(output) / "studio"

    def ready(url: str) -> None:
        if json_:
            print(json.dumps({"url": url, "folder": str(folder)}), flush=True)
        else:
            console.print(url, highlight=False, markup=False, soft_wrap=True)
            console.print("Ctrl-C ends it.", highlight=False)

    serve(folder, port, browser=not no_browser, ready=ready)
    return 0
