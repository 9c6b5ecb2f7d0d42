"""What people who choose GPUs read, in English."""

STRINGS: dict[str, str] = {
    # Why a plan stands where it does: clauses of one line.
    "note.why_fits": "fits in {quant} with {gb:g} GB to spare on each GPU",
    "note.why_tight": "probably fits in {quant}, with only {gb:g} GB to spare on each GPU",
    "note.why_offload": "{gb:g} GB too large for the GPU in {quant}: part of it runs from system"
    " memory",
    "note.why_does_not_fit": "does not fit: {gb:g} GB short on each GPU in {quant}",
    "note.why_speed": "{tokens:g} tok/s for each user",
    "note.why_speed_unknown": "speed unknown",
    "note.why_memory": "{gb:g} GB of memory in all",
    "note.why_free": "{gb:g} GB free in all, for longer contexts, more users or a larger model",
    "note.why_price_street": "${usd} to buy (asking prices of {date})",
    "note.why_price_launch": "${usd} to buy (launch price of {date})",
    "note.why_price_unknown": "price unknown",
    "note.why_cost_unknown": "cost unknown",
    "note.why_power_unknown": "power unknown",
    "note.why_per_million_rented": "${usd} for a million tokens, rented",
    "note.why_per_million_owned": "${usd} for a million tokens, owned",
    "note.why_per_hour_rented": "${usd} an hour, rented",
    "note.why_per_hour_owned": "${usd} an hour, owned",
    "note.why_per_dollar": "{tokens:g} tok/s for each $1,000 of its price",
    "note.why_per_watt": "{joules:g} J a token at {watts:g} W, the computer included",
    "note.why_training_several_boards": "trains large models: {tflops:g} dense 16-bit TFLOPS a"
    " board, and a fast fabric between boards",
    "note.why_training_workstation": "trains small and mid-size models: {tflops:g} dense 16-bit"
    " TFLOPS a board, bridged in pairs",
    "note.why_training_one_board": "fine-tunes on one board: {tflops:g} dense 16-bit TFLOPS",
    "note.why_training_none": "not for training: {tflops:g} dense 16-bit TFLOPS a board",
    "note.why_training_unknown": "training throughput unknown",
    "note.why_inference_large": "made for very large models or many users",
    "note.why_inference_general": "made for inference",
    "note.why_inference_light": "for light inference",
    "note.why_inference_none": "not made for inference",
    "note.why_inference_unknown": "fitness for inference unknown",
    "note.why_fabric": "the GPUs talk over {fabric}",
    "note.why_pcie": "the {count} GPUs talk over PCIe alone",
    "note.why_no_fabric": "no NVLink or similar, so don't plan to scale out",
    # What a GPU is good for, in a word or two.
    "purpose.training": "training",
    "purpose.inference": "inference",
    "purpose.light_inference": "light inference",
    "purpose.neither": "neither",
    "purpose.unknown": "unknown",
    # What a GPU is good for, and what it lacks.
    "note.purpose_training": "Made for training.",
    "note.purpose_inference": "Made for inference.",
    "note.purpose_light_inference": "For light inference: small models, or one user.",
    "note.purpose_neither": "Neither for training nor for inference today.",
    "note.purpose_unknown": "A missing figure leaves open what it is good for.",
    "note.purpose_also_workstation": "Also trains small and mid-size models in a workstation.",
    "note.purpose_also_one_board": "Also fine-tunes what one board holds.",
    "note.purpose_also_large_inference": "Also serves very large models or many users.",
    "note.purpose_efficient": "Efficient: {value:g} dense 16-bit TFLOPS a watt.",
    "note.purpose_lacks_matrix_rate": "Large training wants {needs:g} dense 16-bit TFLOPS; it has"
    " {value:g}.",
    "note.purpose_lacks_compute_per_byte": "It reads faster than it computes: {value:g} operations"
    " a byte, where training wants {needs:g}.",
    "note.purpose_lacks_fabric": "Large training wants {needs:g} GB/s between boards; it has"
    " {value:g} beside PCIe.",
    "note.purpose_lacks_memory": "It has {value:g} GiB of memory; {needs:g} are the least.",
    "note.purpose_lacks_fast_16_bit": "It has no matrix units for 16-bit numbers, and no BF16.",
    "note.purpose_lacks_bandwidth": "It reads {value:g} GB/s; {needs:g} are the least.",
    "note.purpose_unknown_matrix_rate": "Its dense 16-bit throughput is not published.",
    "note.purpose_unknown_compute_per_byte": "Its operations a byte are not known.",
    "note.purpose_unknown_fabric": "The speed of its fabric is not known.",
    "note.purpose_unknown_bandwidth": "Its bandwidth is not known.",
    # What the reader of costs must know.
    "note.price_of_launch": "The price is that of its launch in {year}; today's may differ much.",
    "note.computer_not_counted": "The computer around the cards is not counted (host_usd).",
    "note.rent_label_not_exact": "Some of these rents may be for another form of the card:"
    " their labels do not say.",
    "note.power_is_rated": "Power is the rated maximum; generating usually draws less.",
    "note.several_power_supplies": "One power supply is not enough.",
    # Filters.
    "note.no_gpu_passes_filters": "No GPU of the catalogue passes these filters.",
    "note.filtered_gpus_do_not_run_it": "None of the {count} GPUs of these groups runs this within"
    " the limits.",
    "note.unknown_figures_left_out": "Left out: {count} GPUs whose price, rent or power is not"
    " known.",
    "note.filters_not_applied": "The filters narrow a ranking; GPUs asked for by name are answered"
    " all the same.",
}
