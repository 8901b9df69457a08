# SPDX-License-Identifier: Apache-2.0
"""The encoders of encoders.py, language_models.py and the files beside them in float64, for reference.py."""
import numpy as np

from newer.config import DECODERS, NewerConfig
from newer.encoders import deberta, esm, jina_bert, jina_roberta, modern_bert, turned_bert
from newer.families.bart import bart
from newer.families.bart import scores as bart_scores
from newer.families.clip import clip, text_embedding
from newer.families.mobile_bert import mobile_bert
from newer.families.mobile_bert import scores as mobile_bert_scores
from newer.families.privacy_filter import privacy_filter
from newer.heads import scores
from newer.tensors import Tensors
from newer.language_models import embedding_gemma2, esm_c, gemma3, lfm2, llama, neo_bert, t5, ultra_bert
from reference_inputs import Input

ENCODERS = {"modernbert": modern_bert, "nomic_bert": turned_bert, "new": turned_bert,
            "gte": turned_bert, "jina": jina_bert, "deberta-v2": deberta, "deberta": deberta, "eurobert": llama,
            "jina-roberta": jina_roberta, "jina_embeddings_v3": jina_roberta,
            "ultrabert": ultra_bert, "gemma3_text": gemma3, "embedding_gemma2": embedding_gemma2,
            "embedding_gemma2_text": embedding_gemma2, **dict.fromkeys(DECODERS, llama), "t5": t5, "mt5": t5,
            "esm": esm, "esmc": esm_c, "neobert": neo_bert, "openai_privacy_filter": privacy_filter, "bart": bart,
            "clip": clip, "clip_text_model": clip, "lfm2": lfm2, "lfm2_bidirectional": lfm2, "mobilebert": mobile_bert}
HEADS = {"bart": bart_scores, "clip": text_embedding, "clip_text_model": text_embedding,
         "mobilebert": mobile_bert_scores}


def compute_newer(config: NewerConfig, inputs: list[Input]) -> dict[str, np.ndarray]:
    """The stages of reference.py; the sentence embedding only where the model has one of its own."""
    t, per_input = Tensors(config), []
    for item in inputs:
        ids, types = np.array(item.ids), np.array(item.type_ids)
        t.keys = len(ids) - item.unattended
        states = ENCODERS[config.kind](config, t, ids, types)
        names = ["embeddings"] + [f"layer.{i}" for i in range(config.layers)]
        head = HEADS.get(config.kind, lambda config, t, _, x: scores(config, t, x))
        of_head = head(config, t, ids, states[-1])
        per_input.append(dict(zip(names, states, strict=True)) | of_head)
    stages = {"ids": np.concatenate([x.ids for x in inputs]).astype("<i8"),
              "type_ids": np.concatenate([x.type_ids for x in inputs]).astype("<i8"),
              "starts": np.cumsum([0] + [len(x.ids) for x in inputs]).astype("<i8")}
    return stages | {name: np.concatenate([part[name] for part in per_input])
                     for name in per_input[0]}
