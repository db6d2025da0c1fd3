import { tempMetadata } from '../../../test/support/metadata.ts';
import { testSpread, testUnsharedSpread } from './spread-conformance.ts';

testSpread(tempMetadata, [1, 2]);
testUnsharedSpread(tempMetadata);
