"""The pages by address: who is let in, and what each answers."""

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from tornado.httputil import url_concat
from tornado.web import Application, HTTPError, RequestHandler

from carrysave.studio.forms import Form, form_of
from carrysave.studio.guard import Guard
from carrysave.studio.tasks import KINDS
from carrysave.studio.views import ASSETS, design_page, index_page
from carrysave.studio.work import Busy, Worker
from hw.catalog import CATALOG

__all__ = ["Studio"]

_FIELDS = 200
"""Values of a form."""
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline';"
        " img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TYPES = {".svg": "image/svg+xml", ".zip": "application/zip", ".vcd": "text/plain"}


class Studio(Application):
    """The pages.

    Parameters
    ----------
    guard : who may ask.
    worker : who does what takes long.
    """

    def __init__(self, guard: Guard, worker: Worker) -> None:
        self.guard, self.worker = guard, worker
        # One thread: a design is looked at after the other, and the server answers meanwhile.
        self.thread = ThreadPoolExecutor(1)
        super().__init__(
            [
                (r"/", _Index),
                (r"/design", _Chosen),
                (r"/design/(\w+)", _Design),
                (r"/design/(\w+)/(\w+)", _Task),
                (r"/status", _Status),
                (r"/files/(.+)", _File),
                (r"/(studio\.\w+)", _Asset),
            ],
            default_handler_class=_Nothing,
            log_function=lambda handler: None,
        )


class _Guarded(RequestHandler):
    """Answers nobody who has no token."""

    application: Studio

    def set_default_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.set_header(name, value)
        self.clear_header("Server")

    def prepare(self) -> None:
        guard = self.application.guard
        if not guard.is_host(self.request.host):
            raise HTTPError(403, reason="Another host")
        if not guard.knows(self.get_cookie(guard.cookie)):
            self.refuse()
        if self.request.method == "POST" and not guard.is_origin(
            self.request.headers.get("Origin")
        ):
            raise HTTPError(403, reason="Another origin")

    def refuse(self) -> None:
        """Answer one without the cookie."""
        raise HTTPError(403, reason="No token")

    def write_error(self, status_code: int, **facts: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        said = {
            403: "open the address that `carrysave studio` prints",
            404: "there is no such page",
        }.get(status_code, self._reason)
        self.finish(f"carrysave studio: {said}\n")

    def check_xsrf_cookie(self) -> None:
        """Nothing: the origin of a form is checked."""

    def values(self, source: Mapping[str, list[bytes]]) -> dict[str, str]:
        """Return the fields of an address or of a form."""
        if len(source) > _FIELDS:
            raise HTTPError(400, reason=f"More than {_FIELDS} fields")
        return {name: texts[-1].decode(errors="replace") for name, texts in source.items()}

    async def form(self, name: str, source: Mapping[str, list[bytes]]) -> Form:
        """Return the form of a design with the values of a request."""
        if name not in CATALOG:
            raise HTTPError(404)
        return await self.away(partial(form_of, name, self.values(source)))

    async def away(self, function: Callable[[], Any]) -> Any:
        """Do what takes a moment in the other thread."""
        return await asyncio.get_running_loop().run_in_executor(self.application.thread, function)


class _Nothing(_Guarded):
    def prepare(self) -> None:
        super().prepare()
        raise HTTPError(404)


class _Index(_Guarded):
    def refuse(self) -> None:
        """Take the token of the address, and keep it out of all that follows."""
        guard = self.application.guard
        if not guard.knows(self.get_query_argument("token", None)):
            super().refuse()
        self.set_cookie(guard.cookie, guard.token, httponly=True, samesite="Lax", path="/")
        self.redirect("/")

    def get(self) -> None:
        if self.get_query_argument("token", None) is not None:
            self.redirect("/")
            return
        self.write(index_page())


class _Chosen(_Guarded):
    def get(self) -> None:
        name = self.get_query_argument("name", "")
        if name not in CATALOG:
            raise HTTPError(404)
        self.redirect(f"/design/{name}")


class _Design(_Guarded):
    async def get(self, name: str) -> None:
        form = await self.form(name, self.request.query_arguments)
        self.write(await self.away(partial(design_page, form, self.application.worker)))


class _Task(_Guarded):
    async def post(self, name: str, kind: str) -> None:
        worker = self.application.worker
        if kind not in (*KINDS, "stop"):
            raise HTTPError(404)
        form, problem = await self.form(name, self.request.body_arguments), ""
        if kind == "stop":
            worker.stop()
        elif form.design is None:
            problem = "Nothing was begun: mend the values first."
            self.set_status(400)
        else:
            try:
                worker.start(kind, form.design)
            except Busy as error:
                problem = f"Nothing was begun: {error}."
                self.set_status(409)
        if problem:
            self.write(await self.away(partial(design_page, form, worker, problem=problem)))
            return
        texts = self.values(self.request.body_arguments)
        query = [(key, text) for key, text in texts.items() if text]
        self.redirect(url_concat(f"/design/{name}", query), status=303)


class _Status(_Guarded):
    def get(self) -> None:
        self.set_header("Content-Type", "application/json")
        self.write(json.dumps(self.application.worker.status()))


class _File(_Guarded):
    def get(self, name: str) -> None:
        path = self.application.worker.path(name)
        if path is None or not path.is_file():
            raise HTTPError(404)
        self.set_header("Content-Type", _TYPES[path.suffix])
        if path.suffix != ".svg":
            self.set_header("Content-Disposition", f'attachment; filename="{path.name}"')
        self.write(path.read_bytes())


class _Asset(_Guarded):
    def get(self, name: str) -> None:
        if name not in ASSETS:
            raise HTTPError(404)
        kind, text = ASSETS[name]
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.write(text())
