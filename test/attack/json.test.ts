/** A short form of `npm run attack`. */
import { attackBriefly } from './attack-briefly.js';
import { JSON_ATTACKS } from './attacks/json.js';

attackBriefly('json', JSON_ATTACKS);
