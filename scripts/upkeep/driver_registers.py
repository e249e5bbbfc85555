"""Write the register map that the driver holds, after its SystemRDL source has changed."""

from pathlib import Path

from carrysave.ip import driver_sources

FILE = Path(__file__).parents[2] / "carrysave" / "driver" / "registers.py"

if __name__ == "__main__":
    FILE.write_text(driver_sources.registers())
    print(f"wrote {FILE}")
