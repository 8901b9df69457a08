// SPDX-License-Identifier: Apache-2.0
#include "models/config/other_keys.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bert::models {
namespace {

// Fields of published checkpoints that change no result: those of transformers' configuration
// classes, past and present, about training, text generation and the form of outputs, and what
// earlier code wrote. Some are read if a head needs them, or by the tokenizers.
constexpr std::string_view kHarmless[] = {
    // Names and versions.
    "_commit_hash", "_name_or_path", "bos_token", "eos_token", "finetuning_task", "language",
    "mask_token", "name", "name_or_path", "pad_token", "task_specific_params", "tokenizer_class",
    "transformers_version",
    // Heads and labels.
    "_num_labels", "classifier_activation", "id2label", "label2id", "num_labels",
    "pooler_hidden_act", "problem_type", "sbert_ce_default_activation_function",
    "add_pooling_layer", "sentence_transformers", "summary_activation", "summary_first_dropout",
    "summary_last_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj",
    // Sizes: other values would give tensors other shapes.
    "dense_act_fn", "emb_size", "ffn_div", "head_dim", "is_gated_act", "max_trained_positions",
    "model_max_length", "n_positions", "num_decoder_layers", "parallel_block_tied_norm",
    "pooler_hidden_size",
    // Training and dropout.
    "attention_dropout", "attention_probs_dropout_prob", "attn_pdrop", "classifier_dropout",
    "classifier_dropout_prob", "dropout", "dropout_rate", "gradient_checkpointing",
    "hidden_dropout_prob", "embd_pdrop", "embedding_dropout", "initializer_cutoff_factor",
    "initializer_factor", "hidden_dropout", "initializer_range", "mlp_dropout", "pooler_dropout",
    "qa_dropout", "resid_pdrop", "seq_classif_dropout",
    // How to compute and what to return.
    "dense_seq_output", "deterministic_flash_attn", "fused_bias_fc", "fused_dropout_add_ln",
    "reference_compile", "reorder_and_upcast_attn", "repad_logits_with_grad",
    "sparse_pred_ignore_index", "sparse_prediction", "unpad_inputs", "use_flash_attn",
    "use_memory_efficient_attention", "use_xentropy", "_attn_implementation",
    "_attn_implementation_autoset", "attn_implementation", "chunk_size_feed_forward", "dtype",
    "output_attentions", "output_hidden_states", "output_past", "pretraining_tp", "return_dict",
    "scale_decoder_outputs", "tf_legacy_loss", "torch_dtype", "torchscript", "use_bfloat16",
    "use_cache", "use_return_dict", "xla_device",
    // Token ids; pad_token_id matters in some families.
    "bos_token_id", "cls_token_id", "decoder_start_token_id", "eos_token_id", "eos_token_ids",
    "mask_token_id", "pad_token_id", "sep_token_id", "unk_token_id",
    // Never used by the models: Google's and the first versions'.
    "directionality", "down_scale_factor", "gap_size", "layers_to_keep", "net_structure_type",
    "num_memory_blocks", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
    "pooler_size_per_head", "pooler_type", "tie_weights_",
    // Text generation.
    "bad_words_ids", "begin_suppress_tokens", "cross_attention_hidden_size", "diversity_penalty",
    "do_sample", "early_stopping", "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty", "force_bos_token_to_be_generated", "forced_bos_token_id",
    "forced_eos_token_id", "length_penalty", "max_length", "min_length", "no_repeat_ngram_size",
    "num_beam_groups", "num_beams", "num_return_sequences", "output_scores", "prefix",
    "remove_invalid_values", "repetition_penalty", "return_dict_in_generate", "suppress_tokens",
    "temperature", "tie_encoder_decoder", "top_k", "top_p", "typical_p"};

// bert-convert's; earlier versions wrote a quant_method.
void check_quantization(const JsonField& settings) {
  const bool is_new = settings.is_object() && !settings.has("quant_method");
  if (is_new && settings.has("written_by")) {
    const JsonField writer = settings.at("written_by");
    if (writer.string() != "bert-convert") writer.fail("\"bert-convert\"");
    return;
  }
  const JsonField method = settings.at("quant_method");
  if (method.string() != "bert-infer") method.fail("\"bert-infer\", of bert-convert");
}

}  // namespace

void check_other_keys(const JsonFile& file, Config& config) {
  const auto* by_layer = file.find("per_layer_config");
  if (by_layer && !by_layer->empty() && !config.global_heads) {
    file.fail("per_layer_config", "none");
  }
  if (file.has("quantization_config")) check_quantization(file.at("quantization_config"));
  constexpr const char* kUsual = "model.safetensors";
  if (file.text("transformers_weights", kUsual) != kUsual) {
    file.fail("transformers_weights", fmt::format("\"{}\"", kUsual));
  }
  if (!file.boolean("token_classification_bias", true)) {
    file.fail("token_classification_bias", "true");
  }
  std::vector<std::string> unknown;
  for (const std::string& key : file.unread()) {
    if (!std::ranges::count(kHarmless, key)) unknown.push_back(key);
  }
  if (unknown.empty()) return;
  constexpr size_t kShown = 8;
  const size_t hidden = unknown.size() - std::min(unknown.size(), kShown);
  unknown.resize(unknown.size() - hidden);
  config.notes.push_back(fmt::format("{}: ignored unknown fields: {}{}", file.path(),
                                     fmt::join(unknown, ", "),
                                     hidden > 0 ? fmt::format(" and {} more", hidden) : ""));
}

}  // namespace bert::models
