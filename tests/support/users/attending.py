"""A block that attends as those of vision transformers do."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.before = nn.Linear(width, 3 * width)
        self.after = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        parts = self.before(x).reshape(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(*parts.unbind(0))
        found: torch.Tensor = self.after(attended.transpose(1, 2).reshape(batch, tokens, width))
        return found


def attention(batch_size: int) -> tuple[nn.Module, torch.Tensor]:
    return Attention().eval(), torch.randn(batch_size, 10, 32)
