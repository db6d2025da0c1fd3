import { tempMetadata } from '../../test/support/metadata.ts';
import { testRetention } from '../../test/conformance/pipeline/retention.ts';

testRetention(tempMetadata);
