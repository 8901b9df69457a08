// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/serve/http/http_message.h"
#include "tools/serve/routes/route.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {

HttpResponse spell_error(Dialect dialect, const RequestError& error);
// For the metrics: text-embeddings-inference's names where it has one.
const char* name_of(Refusal refusal);

}  // namespace bert::tools::serve
