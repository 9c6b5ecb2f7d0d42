"""Power of a plan in watts: the boards, the computer around them, and the supply to buy.

Boards count at their rated power: an upper bound, as decoding rarely reaches it.
"""

from __future__ import annotations

from gpusizer.gpus import Gpu

BOARDS_PER_HOST = 8
# Watts of a working desktop or server without its boards. A round assumption.
_PCIE_HOST_WATTS = 150.0
# Laptops, Macs and modules: the chip's rated power leaves out storage, fans and conversion.
_WHOLE_COMPUTER_WATTS = 20.0
# Servers built around their boards: DGX A100, H100 and B200 are rated at 6.5, 10.2 and 14.3 kW
# with 3.2, 5.6 and 8.0 kW of boards, 1.8 to 2.0 times as much.
_SERVER_SHARE = 0.8
# NVIDIA recommends supplies 380 to 450 W above the board's power (RTX 4090: 850 W for 450 W;
# RTX 5090: 1000 W for 575 W). Four RTX 3090 at 300 W on 1600 W (T. Dettmers) is the same rule.
_SUPPLY_HEADROOM_WATTS = 400.0

# Common sizes of one supply; a larger need takes several.
SUPPLY_WATTS = (450, 550, 650, 750, 850, 1000, 1200, 1600, 2000, 2200)


def host_watts(gpu: Gpu, boards: int) -> float | None:
    """Return the power of the computers that hold the boards, or None if the boards' is unknown."""
    if gpu.power_watts is None:
        return None
    if is_whole_computer(gpu):
        return _WHOLE_COMPUTER_WATTS * boards
    if is_card(gpu):
        return _PCIE_HOST_WATTS * -(-boards // BOARDS_PER_HOST)
    return gpu.power_watts * boards * _SERVER_SHARE


def plan_watts(gpu: Gpu, boards: int) -> float | None:
    """Return the rated power of boards and hosts together in watts."""
    host = host_watts(gpu, boards)
    if host is None or gpu.power_watts is None:
        return None
    return gpu.power_watts * boards + host


def power_supply_watts(gpu: Gpu, boards: int) -> int | None:
    """Return the smallest common supply in watts for a computer with these cards.

    None for products with a supply of their own (servers, Macs, laptops), and if one supply is not
    enough.
    """
    if gpu.power_watts is None or not is_card(gpu) or boards > BOARDS_PER_HOST:
        return None
    needed = gpu.power_watts * boards + _SUPPLY_HEADROOM_WATTS
    return next((size for size in SUPPLY_WATTS if size >= needed), None)


def is_card(gpu: Gpu) -> bool:
    """Return whether a board goes into a slot of a self-built computer."""
    return gpu.form_factor.startswith("PCIe")


def is_whole_computer(gpu: Gpu) -> bool:
    """Return whether a chip is sold only as part of a computer."""
    return gpu.is_integrated or gpu.form_factor == "laptop"
