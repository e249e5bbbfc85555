"""Rows of A as runs of a map, between the loader and the bus."""

from typing import Any

from amaranth import Cat, Module
from amaranth.lib.wiring import connect

from hw.soc.schedule.loader import Loader
from hw.soc.schedule.window_walk import WindowWalk

__all__ = ["cut_windows"]


def cut_windows(m: Module, path: Any, loader: Loader, router: Any) -> Any:
    """Make runs of a map of rows of A; return the stream of all rows.

    Parameters
    ----------
    path : :class:`~hw.soc.datapath.Datapath`, whose job it is, the one that is loaded.
    loader, router : what requests rows, and what hands out the data.
    """
    job: Any = path.i_load_job
    m.submodules.window_walk = walk = WindowWalk(path.spec)
    connect(m, loader.o, walk.i)
    m.d.comb += [
        walk.i_here.eq(path.i_load_geometry.of_windows),
        walk.i_window.eq(Cat(job.a_scales, job.b_scales)),
        walk.i_pixel.eq(job.ldsa),
        walk.i_lda.eq(path.i_load_geometry.lda),
        walk.i_line.eq(path.i_load_geometry.line),
        walk.i_dense.eq(path.i_load_geometry.dense),
        walk.i_again.eq(loader.o_again),
        walk.i_first.eq(loader.o_first),
        walk.i_last_code.eq(loader.o_last_code),
        router.i_fill.eq(walk.i_window.fill),
        path.o_final.eq(router.o_final),
    ]
    return walk.o
