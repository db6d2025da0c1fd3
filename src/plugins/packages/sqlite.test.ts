import { tempMetadata } from '../../../test/support/metadata.ts';
import { testPluginPackages } from './conformance.ts';

testPluginPackages('sqlite', tempMetadata);
