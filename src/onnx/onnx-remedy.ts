type Remedy = (...groups: string[]) => string;

/** Causes by the phrases of the runtime's messages (of ours, where we check before it); the first that matches wins. */
const REMEDIES: readonly (readonly [pattern: RegExp, remedy: Remedy])[] = [
  [
    /External data path does not exist: "([^"]+)"/,
    (file) => `The weights lie in a second file, which is missing: copy ${file} beside the model, under the same name.`,
  ],
  [
    /External data|external initializer/i,
    () => 'The weights lie in a second file: copy it beside the model, whole and under the same name.',
  ],
  [
    /([\w.]+):(\w+)\(-?\d+\) is not a registered function\/op/,
    (domain, operator) =>
      `The operator '${operator}' of the domain '${domain}' is not one of ONNX Runtime's, and libraries of custom operators cannot be loaded: export the model with standard operators.`,
  ],
  [
    /No Op registered for (\w+) with domain_version of (\d+)/,
    (operator, version) =>
      `The operator '${operator}' does not exist in opset ${version}: is it misspelt, from a newer opset, or from a domain that the model does not name?`,
  ],
  [
    /Unsupported model IR version: (\d+), max supported IR version: (\d+)/,
    (given, most) =>
      `The file was written in a newer ONNX format (IR version ${given}); export it with IR version ${most} or lower: model.ir_version = ${most}, or an older onnx package.`,
  ],
  [
    /Opset (\d+) is under development.*Current official support for domain (\S+) is till opset (\d+)/s,
    (given, domain, most) =>
      `The model uses opset ${given} of ${domain}; export it with opset_version=${most} or lower, or convert it with onnx.version_converter.`,
  ],
  [
    /Failed to construct locale with name:([^:]+):/,
    (locale) =>
      `The model wants the locale '${locale}', which this machine has not: install it (Debian: apt-get install locales, then locale-gen ${locale}), or export the model without a locale.`,
  ],
  [
    /ONNX_TYPE_(?:SEQUENCE|MAP)' for I\/O/,
    () =>
      'Only tensors can be served. Converters of scikit-learn write such outputs: export with the option zipmap=False (skl2onnx: options={"zipmap": False}).',
  ],
  [
    /Could not find an implementation for (\w+)/,
    (operator) =>
      `ONNX Runtime has no implementation of '${operator}' for these datatypes on this device: convert its tensors, e.g. to FP32.`,
  ],
];

/** What to do about an ONNX model that cannot be loaded, by its message; undefined where the message is not known. */
export function onnxRemedy(message: string): string | undefined {
  for (const [pattern, remedy] of REMEDIES) {
    const match = pattern.exec(message);
    if (match !== null) return remedy(...match.slice(1));
  }
  return undefined;
}
