"""Amounts as people read them, in lines and logs alike.

>>> money(None), money(0.0), money(0.00042), money(12.5)
('cost unknown', '$0', '$0.0004', '$12.50')
"""

from __future__ import annotations


def money(cost: float | None) -> str:
    """US dollars; what is not known is said as that, and is no zero."""
    if cost is None:
        return "cost unknown"
    if cost == 0:
        return "$0"
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}" if cost >= 0.0001 else "under $0.0001"
