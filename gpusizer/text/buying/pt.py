"""What people who choose GPUs read, in Portuguese."""

STRINGS: dict[str, str] = {
    # Why a plan stands where it does: clauses of one line.
    "note.why_fits": "cabe em {quant} com {gb:g} GB de folga em cada GPU",
    "note.why_tight": "provavelmente cabe em {quant}, com só {gb:g} GB de folga em cada GPU",
    "note.why_offload": "{gb:g} GB grande demais para a GPU em {quant}: parte roda na memória do"
    " sistema",
    "note.why_does_not_fit": "não cabe: faltam {gb:g} GB em cada GPU em {quant}",
    "note.why_speed": "{tokens:g} tok/s para cada usuário",
    "note.why_speed_unknown": "velocidade desconhecida",
    "note.why_memory": "{gb:g} GB de memória ao todo",
    "note.why_free": "{gb:g} GB livres ao todo, para contextos mais longos, mais usuários ou um"
    " modelo maior",
    "note.why_price_street": "US$ {usd} para comprar (preços pedidos em {date})",
    "note.why_price_launch": "US$ {usd} para comprar (preço de lançamento de {date})",
    "note.why_price_unknown": "preço desconhecido",
    "note.why_cost_unknown": "custo desconhecido",
    "note.why_power_unknown": "consumo desconhecido",
    "note.why_per_million_rented": "US$ {usd} por milhão de tokens, alugada",
    "note.why_per_million_owned": "US$ {usd} por milhão de tokens, própria",
    "note.why_per_hour_rented": "US$ {usd} por hora, alugada",
    "note.why_per_hour_owned": "US$ {usd} por hora, própria",
    "note.why_per_dollar": "{tokens:g} tok/s para cada US$ 1.000 do preço",
    "note.why_per_watt": "{joules:g} J por token a {watts:g} W, com o computador",
    "note.why_training_several_boards": "treina modelos grandes: {tflops:g} TFLOPS densos de 16"
    " bits por placa e uma ligação rápida entre placas",
    "note.why_training_workstation": "treina modelos pequenos e médios: {tflops:g} TFLOPS densos de"
    " 16 bits por placa, ligadas aos pares",
    "note.why_training_one_board": "faz ajuste fino em uma placa: {tflops:g} TFLOPS densos de 16"
    " bits",
    "note.why_training_none": "não serve para treinar: {tflops:g} TFLOPS densos de 16 bits por"
    " placa",
    "note.why_training_unknown": "capacidade de treino desconhecida",
    "note.why_inference_large": "feita para modelos muito grandes ou muitos usuários",
    "note.why_inference_general": "feita para inferência",
    "note.why_inference_light": "para inferência leve",
    "note.why_inference_none": "não serve para inferência",
    "note.why_inference_unknown": "não se sabe se serve para inferência",
    "note.why_fabric": "as GPUs se falam por {fabric}",
    "note.why_pcie": "as {count} GPUs se falam só por PCIe",
    "note.why_no_fabric": "sem NVLink ou similar: não conte com várias placas",
    # What a GPU is good for, in a word or two.
    "purpose.training": "treino",
    "purpose.inference": "inferência",
    "purpose.light_inference": "inferência leve",
    "purpose.neither": "nenhum",
    "purpose.unknown": "desconhecida",
    # What a GPU is good for, and what it lacks.
    "note.purpose_training": "Feita para treino.",
    "note.purpose_inference": "Feita para inferência.",
    "note.purpose_light_inference": "Para inferência leve: modelos pequenos, ou um usuário.",
    "note.purpose_neither": "Hoje não serve nem para treino nem para inferência.",
    "note.purpose_unknown": "Falta um dado para dizer para que serve.",
    "note.purpose_also_workstation": "Também treina modelos pequenos e médios em uma estação de"
    " trabalho.",
    "note.purpose_also_one_board": "Também faz ajuste fino do que cabe em uma placa.",
    "note.purpose_also_large_inference": "Também serve modelos muito grandes ou muitos usuários.",
    "note.purpose_efficient": "Eficiente: {value:g} TFLOPS densos de 16 bits por watt.",
    "note.purpose_lacks_matrix_rate": "O treino grande pede {needs:g} TFLOPS densos de 16 bits; ela"
    " tem {value:g}.",
    "note.purpose_lacks_compute_per_byte": "Lê mais rápido do que calcula: {value:g} operações por"
    " byte; o treino pede {needs:g}.",
    "note.purpose_lacks_fabric": "O treino grande pede {needs:g} GB/s entre placas; além do PCIe"
    " ela tem {value:g}.",
    "note.purpose_lacks_memory": "Tem {value:g} GiB de memória; o mínimo são {needs:g}.",
    "note.purpose_lacks_fast_16_bit": "Não tem unidades de matriz para números de 16 bits, nem"
    " BF16.",
    "note.purpose_lacks_bandwidth": "Lê {value:g} GB/s; o mínimo são {needs:g}.",
    "note.purpose_unknown_matrix_rate": "Sua capacidade densa de 16 bits não foi publicada.",
    "note.purpose_unknown_compute_per_byte": "Suas operações por byte não são conhecidas.",
    "note.purpose_unknown_fabric": "A velocidade da sua ligação entre placas não é conhecida.",
    "note.purpose_unknown_bandwidth": "Sua largura de banda não é conhecida.",
    # What the reader of costs must know.
    "note.price_of_launch": "O preço é o do lançamento em {year}; o de hoje pode ser bem"
    " diferente.",
    "note.computer_not_counted": "O computador em volta das placas não entra na conta (host_usd).",
    "note.rent_label_not_exact": "Alguns destes aluguéis podem ser de outra forma da placa: o"
    " rótulo não diz.",
    "note.power_is_rated": "O consumo é o máximo nominal; gerar costuma gastar menos.",
    "note.several_power_supplies": "Uma única fonte não basta.",
    # Filters.
    "note.no_gpu_passes_filters": "Nenhuma GPU do catálogo passa por estes filtros.",
    "note.filtered_gpus_do_not_run_it": "Nenhuma das {count} GPUs destes grupos roda isto dentro"
    " dos limites.",
    "note.unknown_figures_left_out": "Ficaram de fora {count} GPUs com preço, aluguel ou consumo"
    " desconhecidos.",
    "note.filters_not_applied": "Os filtros restringem o ranking; GPUs pedidas pelo nome são"
    " respondidas do mesmo jeito.",
}
