"""English: the pictures."""

STRINGS: dict[str, str] = {
    "page.pictures.summary": "See it in pictures",
    "page.pictures.numbers": "The numbers as a table",
    "page.pictures.beyond": "beyond the edge of the picture",
    "page.pictures.lines": "Lettered lines: usable memory of the GPUs side by side; engines keep"
    " a part of it back.",
    "page.pictures.memory.title": "Memory against your cards",
    "page.pictures.memory.lead": "Likely GiB for {context} tokens of context × {concurrency} at"
    " once.",
    "page.pictures.context.title": "Memory along the context",
    "page.pictures.context.lead": "Likely GiB with {concurrency} at once, up to the longest"
    " context. Dotted: the {context} tokens asked for.",
    "page.pictures.axis.context": "tokens of context",
    "page.pictures.buy.title": "Price against speed, bought",
    "page.pictures.rent.title": "Price against speed, rented",
    "page.pictures.price.lead": "A dot for every GPU of the ranking whose price is known; speed is"
    " for one user. Numbered, on the line: nothing as cheap is as fast.",
    "page.pictures.price.dearer": "Dearer, so only in the table: {count}.",
    "page.pictures.axis.buy": "price of all boards",
    "page.pictures.axis.rent": "rent of all boards per hour",
    "page.pictures.users.total": "Speed in total, by users",
    "page.pictures.users.per_user": "Speed for each user, by users",
    "page.pictures.users.lead": "Dotted: the KV cache is full ({users}).",
    "page.pictures.axis.users": "users at once",
    "page.pictures.training.title": "Memory of training, by method",
    "page.pictures.training.lead": "Likely GiB of each method, part by part.",
    "page.part.gradients": "gradients",
    "page.part.optimizer": "optimizer",
    "page.part.adapters": "adapters",
    "page.column.context": "Tokens of context",
    "page.column.frontier": "Nothing cheaper as fast",
    "page.column.method": "Method",
}
