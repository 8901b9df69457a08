# SPDX-License-Identifier: Apache-2.0
"""The golden models with the layers of language models, with their mask or without it, for make_goldens.py: name, what
it covers, arguments of make_model.py, lengths of the inputs."""

WINDOWED = [1, 2, 17, 33, 70, 100]  # windows reach 8 tokens to each side
CODE = "--set auto_map={\"%s\":\"code.%s\"}"

MODELS = [
    ("gemma3", "norms of heads and of what is added, windows, one head of keys; mean pooling",
     "--family gemma3 --shape 4,48,3,50 --positions 128 --scale 0.8 --head none", WINDOWED),
    ("gemma3-newer", "layer_types, rope_parameters, biases, two heads of keys",
     '--family gemma3 --shape 3,56,4,37 --positions 128 --head none --set num_key_value_heads=2 '
     '--set attention_bias=true --set sliding_window=11 --set '
     'layer_types=["full_attention","sliding_attention","full_attention"] --set '
     'rope_parameters={"full_attention":{"rope_theta":80000.0,"rope_type":"default"},'
     '"sliding_attention":{"rope_theta":500.0,"rope_type":"default"}}', WINDOWED),
    ("embedding-gemma2", "heads of two shapes, norms of values, inputs of each layer, an output of another width",
     "--family embedding-gemma2 --shape 4,48,4,60 --positions 128 --scale 0.8 --head none", WINDOWED),
    ("llama", "slow turns are slowed down; the last token's state",
     "--family llama --shape 3,56,4,37 --positions 512 --scale 0.8 --head none --sentence-transformers lasttoken",
     [*WINDOWED, 300]),
    ("llama-tokens", "biases everywhere, heads that are wider together than the hidden size",
     "--family llama --shape 2,48,4,50 --positions 128 --scale 0.8 --head tokens --set head_dim=20 --set "
     "attention_bias=true --set mlp_bias=true --set rope_scaling=null", WINDOWED),
    ("mistral-classification", "no biases; the last token is classified",
     "--family mistral --shape 2,48,4,37 --positions 512 --scale 0.8 --head classification", [*WINDOWED, 250]),
    ("qwen2", "biases of queries, keys and values alone",
     "--family qwen2 --shape 3,56,4,37 --positions 512 --scale 0.8 --head none", [*WINDOWED, 200]),
    ("qwen3", "no token attends to later ones, heads that are wider together than the hidden size; the last "
     "token's state", "--family qwen3 --shape 3,48,4,70 --positions 512 --scale 0.8 --head none --set head_dim=20 "
     "--sentence-transformers lasttoken --normalize", [*WINDOWED, 193, 400]),
    ("qwen3-classification", "the last token is classified",
     "--family qwen3 --shape 2,52,4,37 --positions 512 --scale 0.8 --head classification --set head_dim=6 --set "
     'attention_bias=true --set rope_parameters={"rope_theta":900.0,"rope_type":"default"}', [*WINDOWED, 250]),
    ("qwen3-tokens", "is_causal is false: every token attends to all",
     "--family qwen3 --shape 2,48,4,50 --positions 128 --scale 0.8 --head tokens --set is_causal=false", WINDOWED),
    ("gemma3-causal", "windows before each token; heads of a width and a scale of their own, slower turns",
     "--family gemma3 --shape 4,48,3,50 --positions 512 --scale 0.8 --head none --set use_bidirectional_attention=false "
     "--set head_dim=20 --set query_pre_attn_scalar=24 --set sliding_window=9 --sentence-transformers lasttoken "
     '--set rope_scaling={"rope_type":"linear","factor":8.0}', [*WINDOWED, 300]),
    ("gemma3-linear", "all turns slower; windows to both sides",
     '--family gemma3 --shape 3,48,4,37 --positions 128 --scale 0.8 --head none --set rope_parameters={"full_attention":'
     '{"rope_theta":8000.0,"rope_type":"linear","factor":4.0},"sliding_attention":{"rope_theta":500.0,"rope_type":'
     '"linear","factor":2.0}}', WINDOWED),
    ("mistral-window", "all layers with a window, longer inputs",
     "--family mistral --shape 3,48,4,37 --positions 512 --scale 0.8 --head none --set sliding_window=40",
     [*WINDOWED, 250]),
    ("ministral3", "without a mask; YaRN, as many positions as it was trained on",
     '--family mistral --shape 3,48,4,50 --positions 2048 --scale 0.8 --head none --set model_type="ministral3" '
     '--set architectures=["Ministral3Model"] --set is_causal=false --set head_dim=20 --set sliding_window=null --set '
     'rope_parameters={"type":"yarn","rope_type":"yarn","rope_theta":1000000.0,"factor":16.0,"beta_fast":32.0,'
     '"beta_slow":1.0,"mscale":1.0,"mscale_all_dim":1.0,"llama_4_scaling_beta":0.1,'
     '"original_max_position_embeddings":256}', [*WINDOWED, 256]),
    ("qwen2-window", "the last layer with a window, tokens attend to later ones",
     "--family qwen2 --shape 3,48,4,37 --positions 128 --scale 0.8 --head none --set use_sliding_window=true "
     "--set sliding_window=9 --set max_window_layers=2 --set is_causal=false", WINDOWED),
    ("llama-without-mask", "NVIDIA's embedding models", "--family llama --shape 3,56,4,37 --positions 128 --scale 0.8 "
     '--head none --set model_type="llama_bidirec" --set architectures=["LlamaBidirectionalModel"] --set pooling="avg" '
     + CODE % ("AutoConfig", "LlamaBidirectionalConfig"), WINDOWED),
    ("llama-without-mask-classification", "their reranker: the mean is classified, by a temperature",
     "--family llama --shape 2,48,4,37 --positions 128 --scale 0.8 --head classification --labels 1 --set "
     'model_type="llama_bidirec" --set architectures=["LlamaBidirectionalForSequenceClassification"] --set '
     "temperature=0.4 " + CODE % ("AutoConfig", "LlamaBidirectionalConfig"), WINDOWED),
    ("voyage", "Qwen3 without a mask, a dense layer at the end",
     "--family qwen3 --shape 3,48,4,50 --positions 128 --scale 0.8 --head none --set head_dim=20 --set "
     'architectures=["Qwen3ForCausalLM"] --set use_bidirectional_attention=true --set num_labels=44 '
     + CODE % ("AutoModel", "Qwen3BidirectionalModel"), WINDOWED),
    ("perplexity", "Qwen3 without a mask",
     "--family qwen3 --shape 3,48,4,50 --positions 128 --scale 0.8 --head none --set head_dim=20 --set "
     'model_type="bidirectional_pplx_qwen3" --set architectures=["PPLXQwen3Model"] --set '
     "use_bidirectional_attention=true " + CODE % ("AutoConfig", "PPLXQwen3Config"), WINDOWED),
    ("lfm2", "convolutions in place of some layers' attention; the last token's state",
     "--family lfm2 --shape 4,48,4,50 --positions 512 --scale 0.8 --head none --sentence-transformers lasttoken",
     [*WINDOWED, 250]),
    ("lfm2-without-mask", "by code, taps to both sides", "--family lfm2 --shape 4,48,4,50 --positions 128 --scale 0.8 "
     '--head none --set architectures=["Lfm2BidirectionalModel"] --sentence-transformers cls '
     + CODE % ("AutoModel", "Lfm2BidirectionalModel"), WINDOWED),
    ("lfm2-without-mask-mlm", "by code, an even number of taps, F16",
     '--family lfm2 --shape 4,48,4,50 --positions 128 --scale 0.8 --dtype F16 --head mlm --set conv_L_cache=4 --set '
     'architectures=["Lfm2BidirectionalForMaskedLM"] ' + CODE % ("AutoModel", "Lfm2BidirectionalModel"), WINDOWED),
    ("lfm2-bidirectional-tokens", "transformers' own; layer_types, all of the network's width",
     '--family lfm2 --shape 3,48,4,52 --positions 128 --scale 0.8 --head tokens --set model_type="lfm2_bidirectional" '
     '--set architectures=["Lfm2BidirectionalForTokenClassification"] --set block_auto_adjust_ff_dim=false --set '
     'full_attn_idxs=[0,2] --set layer_types=["full_attention","conv","full_attention"] --set conv_zero_padding=true',
     WINDOWED),
    ("lfm2-bidirectional-classification", "the last token is classified",
     '--family lfm2 --shape 4,48,4,52 --positions 128 --scale 0.8 --head classification --set '
     'model_type="lfm2_bidirectional" --set architectures=["Lfm2BidirectionalForSequenceClassification"] --set '
     'head_dim=16 --set num_key_value_heads=1 --set rope_parameters={"rope_theta":900.0,"rope_type":"default"}', WINDOWED),
    ("jina-v5-small", "Qwen3, whose adapters are elsewhere", "--family qwen3 --shape 3,48,4,50 --positions 512 --scale 0.8 "
     '--head none --set head_dim=20 --set is_decoder=true --set model_type="jina_embeddings_v5" --set '
     'architectures=["JinaEmbeddingsV5Model"] --sentence-transformers lasttoken --normalize --set '
     'task_names=["retrieval","clustering"] ' + CODE % ("AutoConfig", "JinaEmbeddingsV5Config"), [*WINDOWED, 200]),
    ("jina-v5-nano", "EuroBERT, likewise", "--family eurobert --shape 3,48,4,50 --positions 128 --scale 0.8 "
     '--head none --set is_decoder=false --set model_type="jina_embeddings_v5" --set '
     'architectures=["JinaEmbeddingsV5Model"] --sentence-transformers lasttoken --normalize --set '
     'task_names=["retrieval","clustering"] ' + CODE % ("AutoConfig", "JinaEmbeddingsV5Config"), WINDOWED),
]
