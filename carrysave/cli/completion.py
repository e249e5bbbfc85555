"""``carrysave completion``."""

from typing import Annotated, Literal

from cyclopts import Parameter

__all__ = ["completion"]


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="Shell that the text is for.")],
    /,
) -> int:
    """Print what has a shell complete commands and options.

    **Examples:**

    - `carrysave completion bash > ~/.local/share/bash-completion/completions/carrysave`
    - `carrysave completion zsh > ~/.zfunc/_carrysave`
    - `carrysave completion fish > ~/.config/fish/completions/carrysave.fish`
    """
    from carrysave.cli import command_line  # which is being loaded

    print(command_line([]).generate_completion(shell=shell))
    return 0
