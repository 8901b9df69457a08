// SPDX-License-Identifier: Apache-2.0
//
// Tasks that answer with parts of the text, in the shapes of Hugging Face's inference API.
#pragma once

#include "tools/serve/routes/route.h"

namespace bert::tools::serve {

Work tag_work(const Call& call, const ServedModel& model);
Work answer_work(const Call& call, const ServedModel& model);
Work fill_mask_work(const Call& call, const ServedModel& model);

}  // namespace bert::tools::serve
