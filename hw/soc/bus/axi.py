"""AXI4, AXI4-Lite and AXI4-Stream as Amaranth signatures, with the standard's names."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.soc.bus import BusSpec
from hw.lib.bus import Bus

__all__ = ["Axi4", "Axi4Lite", "Axi4Read", "Axi4Stream", "Axi4Write"]


class Axi4Read(wiring.Signature):
    """Read channels of an AXI4 manager without IDs."""

    def __init__(self, spec: BusSpec):
        super().__init__({
            "araddr": Out(spec.address_width),
            "arlen": Out(8),
            "arsize": Out(3),
            "arburst": Out(2),
            "arcache": Out(4),
            "arprot": Out(3),
            "arvalid": Out(1),
            "arready": In(1),
            "rdata": In(spec.data_width),
            "rresp": In(2),
            "rlast": In(1),
            "rvalid": In(1),
            "rready": Out(1),
        })


class Axi4Write(wiring.Signature):
    """Write channels of an AXI4 manager without IDs."""

    def __init__(self, spec: BusSpec):
        super().__init__({
            "awaddr": Out(spec.address_width),
            "awlen": Out(8),
            "awsize": Out(3),
            "awburst": Out(2),
            "awcache": Out(4),
            "awprot": Out(3),
            "awvalid": Out(1),
            "awready": In(1),
            "wdata": Out(spec.data_width),
            "wstrb": Out(spec.bytes),
            "wlast": Out(1),
            "wvalid": Out(1),
            "wready": In(1),
            "bresp": In(2),
            "bvalid": In(1),
            "bready": Out(1),
        })


class Axi4(wiring.Signature):
    """All channels of an AXI4 manager; with IDs of some bits, or without."""

    def __init__(self, spec: BusSpec, id_width: int = 0):
        super().__init__({
            **self.ids(id_width),
            **Axi4Write(spec).members,
            **Axi4Read(spec).members,
        })
        self.bus = Bus(
            "AXI4",
            {
                "DATA_WIDTH": spec.data_width,
                "ADDR_WIDTH": spec.address_width,
                "ID_WIDTH": id_width,
                "MAX_BURST_LENGTH": spec.burst,
                "NUM_READ_OUTSTANDING": spec.outstanding,
                "NUM_WRITE_OUTSTANDING": spec.outstanding,
                "SUPPORTS_NARROW_BURST": 0,
                **dict.fromkeys(("HAS_LOCK", "HAS_QOS", "HAS_REGION"), 0),
            },
        )

    @staticmethod
    def ids(width: int) -> dict[str, wiring.Member]:
        """List the members of IDs; of 0 bits, none."""
        ways = {"awid": Out, "bid": In, "arid": Out, "rid": In}
        return {name: way(width) for name, way in ways.items() if width}


class Axi4Lite(wiring.Signature):
    """AXI4-Lite of 32 bits, from the manager's side."""

    def __init__(self, address_width: int):
        super().__init__({
            "awaddr": Out(address_width),
            "awprot": Out(3),
            "awvalid": Out(1),
            "awready": In(1),
            "wdata": Out(32),
            "wstrb": Out(4),
            "wvalid": Out(1),
            "wready": In(1),
            "bresp": In(2),
            "bvalid": In(1),
            "bready": Out(1),
            "araddr": Out(address_width),
            "arprot": Out(3),
            "arvalid": Out(1),
            "arready": In(1),
            "rdata": In(32),
            "rresp": In(2),
            "rvalid": In(1),
            "rready": Out(1),
        })
        self.bus = Bus("AXI4LITE", {"DATA_WIDTH": 32, "ADDR_WIDTH": address_width})


class Axi4Stream(wiring.Signature):
    """AXI4-Stream of a transmitter; ``tkeep`` marks the valid bytes."""

    def __init__(self, spec: BusSpec):
        super().__init__({
            "tdata": Out(spec.data_width),
            "tkeep": Out(spec.bytes),
            "tlast": Out(1),
            "tvalid": Out(1),
            "tready": In(1),
        })
        self.bus = Bus(
            "AXI4STREAM", {"TDATA_NUM_BYTES": spec.bytes, "HAS_TKEEP": 1, "HAS_TLAST": 1}
        )
