import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onnxRemedy } from './onnx-remedy.js';

/** Messages of ONNX Runtime 1.30 as it gave them, and what the remedy has to name. */
const CASES: readonly (readonly [message: string, remedy: RegExp])[] = [
  [
    'onnx runtime error 1: External data path validation failed for initializer: W. Error: tensorprotoutils.cc:461 ValidateExternalDataPathFromDir External data path does not exist: "/m/1/weights.bin"',
    /copy \/m\/1\/weights\.bin beside the model/,
  ],
  [
    'onnx runtime error 1: Load model from m.onnx failed:Fatal error: my.ops:Frobnicate(-1) is not a registered function/op',
    /operator 'Frobnicate' of the domain 'my\.ops'/,
  ],
  [
    'This is an invalid model. In Node, ("", Frobnicate, "", -1) : ("A": tensor(float),) -> ("B": tensor(float),) , Error No Op registered for Frobnicate with domain_version of 17',
    /'Frobnicate' does not exist in opset 17/,
  ],
  ['Unsupported model IR version: 99, max supported IR version: 13', /export it with IR version 13 or lower/],
  [
    'Opset 99 is under development and support for this is limited. The operator schemas may change.\nCurrent official support for domain ai.onnx is till opset 26.',
    /opset_version=26 or lower/,
  ],
  [
    'Failed to construct locale with name:xx_YY:locale::facet::_S_create_c_locale name not valid:Please, install necessary language-pack-XX and configure locales',
    /locale 'xx_YY', which this machine has not/,
  ],
  [
    "Unsupported ONNX Type 'ONNX_TYPE_SEQUENCE' for I/O 'P', expected 'ONNX_TYPE_TENSOR'.",
    /options=\{"zipmap": False\}/,
  ],
];

for (const [message, remedy] of CASES) {
  test(`remedy: ${remedy.source}`, () => {
    assert.match(onnxRemedy(message) ?? '', remedy);
    assert.doesNotMatch(onnxRemedy(message) ?? '', /again/);
  });
}

test('of a message that is not known nothing is said', () => {
  assert.equal(onnxRemedy('something else'), undefined);
});
