# SPDX-License-Identifier: Apache-2.0
import sys, bert_infer
model = bert_infer.Model(bert_infer.demo_model())
print(*model.run([(sys.argv[1], sys.argv[2])])[0])
