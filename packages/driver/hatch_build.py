"""Brings the driver's files where the package is built from a checkout; an sdist has them."""

import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "carrysave_driver"


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the files into a folder, and has that included."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the copy."""
        self._folder = TemporaryDirectory()
        if Path(self.root, PACKAGE).is_dir():
            return
        root = Path(self.root).parents[1]
        sources = runpy.run_path(str(root / "carrysave" / "driver_package.py"))["sources"]
        names = ("formats/bitmap", "soc/blocking", "soc/window", "lut/expander", "lut/trits")
        golden = (root / "golden" / f"{name}.py" for name in names)
        files = sources(root / "carrysave" / "driver", *golden)
        files["LICENSE"] = (root / "LICENSE").read_text()
        for name, text in files.items():
            Path(self._folder.name, name).write_text(text)
        build_data["force_include"][self._folder.name] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        self._folder.cleanup()
