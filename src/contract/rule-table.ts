/** Every rule by which a repository is judged: what it is about, and how to correct what breaks it. */
interface Rule {
  /** What the rule asks for, in one sentence. */
  readonly about: string;
  /** What to do where the finding itself does not know better. */
  readonly remedy: string;
}

const CONTROL = 'Write one of int32_false_true, fp32_false_true and bool_false_true with two values, e.g. [ 0, 1 ].';
const MODEL_FILE = 'Copy or export the model again.';

const TABLE = {
  // The repository
  repository: {
    about: 'A repository is a directory that can be listed.',
    remedy: 'Name the directory that holds the directories of the models.',
  },
  'repository-is-model': {
    about: 'A repository holds directories of models; it is not one of them, nor a directory above repositories.',
    remedy: 'Name the directory that holds the directories of the models.',
  },
  'load-model': {
    about: 'The models of --load-model are there.',
    remedy: 'Name a model of the repositories.',
  },
  'model-duplicate': { about: 'A model lies in one repository only.', remedy: 'Keep one of them.' },
  'model-directory': {
    about: "A model's directory can be read.",
    remedy: 'Give the user of the server the right to read it.',
  },
  'broken-link': { about: 'Links lead somewhere.', remedy: 'Remove the link, or put back what it led to.' },
  'hidden-directory': {
    about: 'Every directory of a repository counts as a model, hidden ones too.',
    remedy: 'Move the directory out of the repository.',
  },
  'model-name': {
    about: 'HTTP clients can only ask for names that a path can hold.',
    remedy: 'Rename the directory; letters, digits and . _ - ~ are safe.',
  },
  // Reading the configuration
  'model-unreadable': {
    about: 'A model can be examined.',
    remedy: 'Read the message; take the model out of the repository until it is put right.',
  },
  'model-file-outside': {
    about: "A model's file lies in its version's directory.",
    remedy: 'Put the file into the version directory, or a link to it.',
  },
  'model-file-unreadable': {
    about: "A model's file is a regular file that can be read.",
    remedy: 'Put a readable file there.',
  },
  'config-unreadable': {
    about: 'The configuration can be read.',
    remedy: 'Put a readable config.pbtxt there; without automatic completion it must exist.',
  },
  'config-syntax': {
    about: 'The configuration is protobuf text of the message ModelConfig.',
    remedy: 'Fix the text where the position points.',
  },
  'config-override': { about: 'A configuration in a load request is JSON.', remedy: 'Fix the JSON text.' },
  'repository-agent': {
    about: 'Native repository agents cannot be run.',
    remedy: "Remove 'model_repository_agents'.",
  },
  'backend-unknown': {
    about: 'Something says which backend the model needs: the configuration, or a model file of a known name.',
    remedy:
      "Write 'backend' into config.pbtxt, or put the model's file (model.onnx, model.py) into the version's directory.",
  },
  'directory-name': {
    about: 'A model is called what its directory is called.',
    remedy: "Leave 'name' out, or correct it.",
  },
  // Rules of the whole configuration
  'name-missing': { about: 'A model has a name.', remedy: "Write 'name'." },
  'platform-unknown': { about: 'A platform or a backend is named.', remedy: "Write 'backend'." },
  'platform-backend-pair': { about: 'Platform and backend fit together.', remedy: "Leave 'platform' out." },
  'ensemble-backend': { about: 'An ensemble has no backend.', remedy: "Remove 'backend'." },
  'max-batch-size-negative': {
    about: 'max_batch_size is 0 or more.',
    remedy: 'Write 0 for a model that does not batch.',
  },
  'version-policy-missing': {
    about: 'There is a version policy.',
    remedy: 'Write version_policy { latest { num_versions: 1 } }.',
  },
  'preferred-batch-size': {
    about: 'Preferred batch sizes are positive and at most max_batch_size.',
    remedy: 'Correct the size, raise max_batch_size, or leave preferred_batch_size out.',
  },
  'default-priority-level': {
    about: 'The default priority is one of the levels.',
    remedy: 'Write default_priority_level from 1 to priority_levels.',
  },
  'priority-queue-level': {
    about: 'Queue policies are for levels that exist.',
    remedy: 'Use keys from 1 to priority_levels.',
  },
  'preserve-ordering-priorities': {
    about: 'Answers in order and priorities exclude each other.',
    remedy: "Remove 'preserve_ordering', or use one priority level.",
  },
  'preserve-ordering-delay': {
    about: 'Answers in order and delayed requests exclude each other.',
    remedy: 'Write timeout_action: REJECT.',
  },
  'cache-sequence': { about: 'Sequences are not cached.', remedy: "Remove 'response_cache'." },
  'cache-decoupled': { about: 'Decoupled models are not cached.', remedy: "Remove 'response_cache'." },
  'control-name': {
    about: 'Every control tensor has a name of its own.',
    remedy: "Write 'name' into the control_input.",
  },
  'sequence-control': { about: 'A control says which values stand for false and true.', remedy: CONTROL },
  'slot-utilization': { about: 'minimum_slot_utilization is from 0 to 1.', remedy: 'Write a value from 0.0 to 1.0.' },
  'metric-control': {
    about: 'A control of metrics names its family and its options.',
    remedy: 'Write metric_identifier { family: "..." } and histogram_options { buckets: [ ... ] }.',
  },
  'metric-tag-name': {
    about: 'Names of metric tags are names of Prometheus labels.',
    remedy: 'Use letters, digits and _, beginning with no digit.',
  },
  // Inputs and outputs
  'tensor-name': { about: 'Every input and output has a name.', remedy: "Add 'name'." },
  'tensor-name-twice': {
    about: 'Every input has a name of its own, and so has every output.',
    remedy: 'Remove one of the two, or give it another name.',
  },
  'tensor-data-type': { about: 'Every input and output has a datatype.', remedy: "Add e.g. 'data_type: TYPE_FP32'." },
  'tensor-dims': {
    about: 'Every input and output has dims of 1 or more, or -1 for any size.',
    remedy: "Add e.g. 'dims: [ 3, 224, 224 ]', without the batch dimension; -1 stands for any size.",
  },
  'tensor-format': { about: 'Pictures have three dims.', remedy: "Write three dims, or remove 'format'." },
  'reshape-empty': {
    about: 'Models without batches have no scalars.',
    remedy: "Remove 'reshape', or set max_batch_size.",
  },
  'reshape-size': {
    about: 'dims and reshape hold the same number of elements.',
    remedy: 'Let dims and reshape have the same product, and the -1 the same neighbours.',
  },
  'element-count': { about: 'A tensor has a number of elements that 63 bits hold.', remedy: 'Write smaller dims.' },
  'shape-tensor': { about: 'Only TensorRT has shape tensors.', remedy: "Remove 'is_shape_tensor'." },
  'non-linear-format': {
    about: 'Only TensorRT has non-linear formats, of three dims.',
    remedy: "Remove 'is_non_linear_format_io'.",
  },
  'batch-input': {
    about: 'A batch input has one source, which is an input, and TYPE_INT32 or TYPE_FP32.',
    remedy: 'Name one input in source_input and write data_type: TYPE_INT32 or TYPE_FP32.',
  },
  'batch-output': {
    about: 'A batch output has one source, which is an input, and targets that are outputs.',
    remedy: 'Name one input in source_input and outputs in target_name.',
  },
  'batch-kind': { about: 'The kind of a batch input or output exists.', remedy: 'Write one of the kinds by name.' },
  'optional-input': { about: 'Only some backends can do without an input.', remedy: "Remove 'optional'." },
  // Ensembles
  'ensemble-field': {
    about: 'An ensemble has steps, and nothing that is for single models.',
    remedy: 'Remove the field.',
  },
  'ensemble-scheduling-missing': {
    about: 'An ensemble has steps.',
    remedy: 'Write ensemble_scheduling { step { ... } }.',
  },
  'ensemble-step': {
    about: 'A step names its model and maps inputs and outputs.',
    remedy: 'Write model_name, model_version: -1, input_map and output_map into the step.',
  },
  'ensemble-tensor-written-twice': {
    about: 'Every tensor of an ensemble is written by one step.',
    remedy: 'Give the second tensor another name.',
  },
  'ensemble-input-unused': {
    about: 'Every input of an ensemble is used.',
    remedy: "Use it in a step's input_map, or remove it.",
  },
  'ensemble-output-unwritten': {
    about: 'Every output of an ensemble is written.',
    remedy: "Write it in a step's output_map, and connect that step's inputs.",
  },
  'ensemble-tensor-unused': {
    about: 'Every tensor of an ensemble is written and used.',
    remedy: 'Use it as an input of a step or as an output of the ensemble; is a name misspelt?',
  },
  'ensemble-member-missing': {
    about: 'The models of an ensemble are there.',
    remedy: 'Put the model into the repository, once.',
  },
  'ensemble-member-failed': {
    about: 'The models of an ensemble can be loaded.',
    remedy: 'Fix that model first; its own findings say how.',
  },
  'ensemble-member-version': {
    about: 'The versions of an ensemble are there.',
    remedy: 'Write model_version: -1 for the latest; leaving it out asks for version 0.',
  },
  'ensemble-cycle': { about: 'No ensemble contains itself.', remedy: 'Remove one of the steps that lead round.' },
  'ensemble-batch-size': {
    about: 'An ensemble takes no larger batches than its models.',
    remedy: 'Lower max_batch_size of the ensemble, or raise that of the model.',
  },
  'ensemble-input-map': {
    about: 'A step maps the inputs of its model, with their datatypes and shapes.',
    remedy: "Let the datatypes agree: fix the ensemble's or the model's.",
  },
  'ensemble-output-map': {
    about: 'A step maps outputs of its model, with their datatypes and shapes.',
    remedy: "Let the datatypes agree: fix the ensemble's or the model's.",
  },
  'ensemble-decoupled': {
    about: 'Answers of different decoupled models are not mixed.',
    remedy: 'Take the inputs of the step from one decoupled model.',
  },
  // Versions, backend, instances
  'version-directory': {
    about: 'Versions are directories named by plain numbers.',
    remedy: 'Version directories are named by plain numbers: 1, 2, 10.',
  },
  'version-missing': {
    about: 'Versions that the policy names are there.',
    remedy: "Make the version's directory, or take the number out of version_policy.",
  },
  'no-version': { about: 'A model has a version to load.', remedy: 'Make a directory 1 with the model in it.' },
  'backend-library': {
    about: 'The backend is there.',
    remedy: 'Convert the model to ONNX, or serve it elsewhere.',
  },
  'config-missing': { about: 'Some backends need a configuration.', remedy: 'Write a config.pbtxt.' },
  'instance-group': {
    about: 'Instances can be placed on this host.',
    remedy: 'Write instance_group [ { kind: KIND_CPU } ], or leave it out.',
  },
  'rate-limit': {
    about: 'There are the resources that instances ask for (--rate-limit).',
    remedy: 'Raise the count with --rate-limit-resource, or ask for less in rate_limiter.',
  },
  'batch-strategy': { about: 'Native batching libraries cannot be run.', remedy: 'Remove the parameter.' },
  // Files
  'model-file': { about: "The model's file can be used.", remedy: MODEL_FILE },
  'model-file-missing': {
    about: "The model's file is there.",
    remedy: "Put it there, or name it with 'default_model_filename'.",
  },
  'model-file-empty': { about: "The model's file is not empty.", remedy: MODEL_FILE },
  'model-file-lfs': {
    about: "The model's file is the model, not a pointer of Git LFS to it.",
    remedy: "Fetch the content with 'git lfs pull'.",
  },
  'model-file-truncated': { about: "The model's file is complete.", remedy: MODEL_FILE },
  'model-file-format': {
    about: "The model's file has the format of its backend.",
    remedy: 'Export the model in the format of the backend, or name the backend that the file is for.',
  },
  'label-file': {
    about: 'Label files can be read.',
    remedy: "The name counts from the model's directory, not from the version's.",
  },
  'label-count': {
    about: 'A label file has a label for every element of its output.',
    remedy: 'One line per class, in the order of the classes.',
  },
  'warmup-sample': {
    about: 'Warm-up samples fit the model.',
    remedy: "Give every input of the model in 'model_warmup', with its datatype and shape; files lie in 'warmup'.",
  },
  'initial-state': {
    about: 'Initial states fit their states.',
    remedy: "Let name, datatype, dims and data of 'initial_state' fit the state; files lie in 'initial_state'.",
  },
  // ONNX models
  'onnx-file': { about: 'The runtime can load the model.', remedy: MODEL_FILE },
  'onnx-runtime-missing': {
    about: 'The runtime can be asked.',
    remedy: "Install it: 'triton doctor' says what is missing.",
  },
  'onnx-not-a-tensor': {
    about: 'Inputs and outputs are tensors.',
    remedy: 'Export the model without sequences and maps (for scikit-learn: zipmap=False).',
  },
  'onnx-input-count': { about: 'All inputs of the model are configured.', remedy: "List the model's inputs." },
  'onnx-unknown-input': { about: 'Configured inputs are in the model.', remedy: "Use one of the model's names." },
  'onnx-unknown-output': { about: 'Configured outputs are in the model.', remedy: "Use one of the model's names." },
  'onnx-type-mismatch': { about: 'Datatypes are those of the model.', remedy: "Write the model's datatype." },
  'onnx-unsupported-type': { about: 'Datatypes exist.', remedy: 'Write one of the datatypes by name, e.g. TYPE_FP32.' },
  'onnx-datatype': { about: 'The runtime can carry the datatype.', remedy: 'Let the model cast it to TYPE_FP32.' },
  'onnx-dims-mismatch': { about: 'Shapes are those of the model.', remedy: "Write the model's dims." },
  'onnx-scalar-dims': { about: 'Scalars are configured as [ 1 ].', remedy: 'Write dims: [ 1 ].' },
  'onnx-not-batching': {
    about: 'A model that batches has an open first dimension.',
    remedy: 'Set max_batch_size to 0, or export the model with a dynamic first dimension.',
  },
  'onnx-optional-batching': {
    about: 'Models that batch have no optional inputs.',
    remedy: "Remove 'optional', or set max_batch_size to 0.",
  },
  'onnx-ragged-optional': {
    about: 'Ragged inputs are not optional.',
    remedy: "Remove 'optional' or 'allow_ragged_batch'.",
  },
  'onnx-ragged-shape': {
    about: 'Ragged inputs have the shape [-1] in the model.',
    remedy: "Remove 'allow_ragged_batch', or export the model with one open dimension.",
  },
  'onnx-auto-complete': {
    about: 'The configuration can be completed from the model.',
    remedy: 'Set max_batch_size to 0, or export the model with a dynamic first dimension.',
  },
  'onnx-parameter': {
    about: "The runtime's parameters have values that it knows.",
    remedy: 'Correct the value, or remove the parameter.',
  },
  'sequence-control-unknown': {
    about: 'Control tensors are inputs of the model.',
    remedy: "Use one of the model's names.",
  },
  'sequence-control-dims': {
    about: 'Control tensors have the dims [1].',
    remedy: 'Export the model with control tensors of dims [1].',
  },
  'sequence-control-type': {
    about: "Control tensors have the model's datatype.",
    remedy: 'Use the list of that datatype.',
  },
  // Python models
  'python-file-name': {
    about: "A Python model's file ends in .py.",
    remedy: "Rename it, and 'default_model_filename' with it.",
  },
  'python-class-missing': {
    about: 'A Python model is a class TritonPythonModel.',
    remedy: 'Define class TritonPythonModel with an execute method.',
  },
  'python-parameter': { about: 'Parameters of Python models have values that exist.', remedy: 'Correct the value.' },
  'python-load': {
    about: 'A Python model can be imported and completes its configuration.',
    remedy: 'Fix the line that the message names; a missing package is missing in the interpreter of the models.',
  },
  'python-initialize': {
    about: 'An instance of a Python model can be made: its initialize ends without an exception and in time.',
    remedy: 'Fix the line that the message names, or what it misses: a file, a package, a setting of the environment.',
  },
  'python-needs-server': {
    about: 'What a Python model asks of the server while it is loaded can only be seen in a server.',
    remedy: 'Load the model in a server to be certain: triton serve.',
  },
  'python-not-run': {
    about: 'The interpreter of Python models can run them.',
    remedy: 'Install Python 3 with numpy, or name an interpreter in TRITON_PYTHON.',
  },
} satisfies Readonly<Record<string, Rule>>;

/** Name of a rule, in kebab case. */
export type RuleName = keyof typeof TABLE;

/** The rules by name, in the order of the stages in which they are checked. */
export const RULES: Readonly<Record<RuleName, Rule>> = TABLE;
