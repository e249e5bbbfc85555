"""Start a PostgreSQL server whose one database is a store of results; ctrl-C ends it.

    .venv/bin/python scripts/upkeep/store_server.py FOLDER                   for this machine
    .venv/bin/python scripts/upkeep/store_server.py FOLDER --listen 10.0.0.5 for a network

The folder has all data, and a password that is drawn when it is made; the line that is printed is
what ``--store`` takes. Debian's package ``postgresql`` has the server; for root it runs as
``postgres``.
"""

import argparse
import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

USER = DATABASE = "carrysave"


def programs() -> Path | None:
    """Return the folder of the newest server that is installed."""
    if (program := shutil.which("initdb")) is not None:
        return Path(program).resolve().parent
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(folders, key=lambda folder: int(folder.parent.name), default=None)


def as_user() -> list[str]:
    """Return what a command begins with, so that no server runs as root; it passes signals on."""
    if os.getuid() != 0:
        return []
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]


def make(folder: Path, bin_folder: Path) -> None:
    """Make the folder: a server with one database, of one user, who has a password."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    password = secrets.token_urlsafe(18)
    command: list[str | Path] = [
        bin_folder / "initdb",
        "-D",
        folder / "data",
        "-E",
        "UTF8",
        "--locale",
        "C",
    ]
    command += ["--auth-local", "peer", "--auth-host", "scram-sha-256"]
    subprocess.run([*as_user(), *map(str, command)], check=True, stdout=subprocess.DEVNULL)
    # It listens to networks only where it was told to, but then to all that have the password.
    with (folder / "data" / "pg_hba.conf").open("a") as rules:
        rules.write("host all all all scram-sha-256\n")
    queries = f"CREATE ROLE {USER} LOGIN PASSWORD '{password}'\n"
    queries += f"CREATE DATABASE {DATABASE} OWNER {USER}\n"
    single: list[str | Path] = [
        bin_folder / "postgres",
        "--single",
        "-D",
        folder / "data",
        "postgres",
    ]
    subprocess.run(
        [*as_user(), *map(str, single)], check=True, input=queries.encode(), capture_output=True
    )
    # At the end, as it says that all is made.
    whole = folder / "password"
    whole.touch(mode=0o600)
    whole.write_text(password)


def main() -> None:
    """Make the folder if it is not there, say the URL, and serve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--listen", default="127.0.0.1", help="address [default: %(default)s]")
    parser.add_argument("--port", type=int, default=5432)
    arguments = parser.parse_args()
    bin_folder = programs()
    if bin_folder is None:
        sys.exit("PostgreSQL must be installed: apt-get install postgresql")
    folder = arguments.folder.resolve()
    if not (folder / "password").is_file():
        make(folder, bin_folder)
    password = (folder / "password").read_text()
    address = f"{USER}:{password}@{arguments.listen}:{arguments.port}"
    print(f"postgresql://{address}/{DATABASE}", flush=True)
    command = [bin_folder / "postgres", "-D", folder / "data", "-h", arguments.listen]
    command += ["-p", str(arguments.port), "-k", folder]
    whole = [*as_user(), *map(str, command)]
    os.execvp(whole[0], whole)


if __name__ == "__main__":
    main()
