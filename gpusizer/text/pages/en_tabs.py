"""English: the tabs, and the catalogue's table."""

STRINGS: dict[str, str] = {
    "page.hint": "This page in English",
    "page.api.train": "fine-tuning: memory, savings, GPUs, hours and dollars.",
    "page.api.reverse": "which models a card or a machine of mixed cards runs.",
    "page.api.all": "All parameters of each:",
    "page.api.mcp": "The same endpoints are tools of the Model Context Protocol at",
    "page.sign_in": "Sign in: gated models, your saved GPUs",
    "page.tab.size": "Size a model",
    "page.tab.compare": "Compare GPUs",
    "page.tab.reverse": "What can my GPU run?",
    "page.tab.catalogue": "GPU catalogue",
    "page.tab.know": "How we know",
    "page.compare.model": "Model (optional)",
    "page.compare.go": "Compare",
    "page.catalogue.title": "{count} GPUs",
    "page.catalogue.lead": "Usable memory is what a driver reports, not the number on the box."
    " Rates are dense, per board. A dash is unknown, not zero.",
    "page.catalogue.filter": "Filter by name, maker or generation",
    "page.catalogue.none": "No GPU has all these words in its name.",
    "page.column.usable": "Usable GiB",
    "page.column.bandwidth": "GB/s",
    "page.column.fp16": "FP16 TFLOPS",
    "page.column.links": "Link between boards",
    "page.column.year": "Year",
}
