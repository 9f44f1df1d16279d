import { testPages } from './test-pages.js';

testPages('readme.test.ts');
