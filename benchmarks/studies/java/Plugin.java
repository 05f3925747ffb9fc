package judge;

import com.o19s.es.ltr.feature.store.FeatureNormDefinition;
import com.o19s.es.ltr.feature.store.StoredFeatureNormalizers;
import com.o19s.es.ltr.ranker.LtrRanker;
import com.o19s.es.ltr.ranker.normalizer.FeatureNormalizingRanker;
import com.o19s.es.ltr.ranker.normalizer.Normalizer;
import com.o19s.es.ltr.ranker.parser.LinearRankerParser;
import com.o19s.es.ltr.ranker.parser.LtrRankerParser;
import com.o19s.es.ltr.ranker.parser.XGBoostJsonParser;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The plugin Learning to Rank of Elasticsearch or OpenSearch. */
class Plugin extends Judge {
    private LtrRanker ranker;
    private LtrRanker.FeatureVector vector;

    public static void main(String[] folders) throws IOException {
        new Plugin().run(folders);
    }

    @Override
    @SuppressWarnings("unchecked")
    void read(String body, List<Object> names) {
        Map<String, Object> request = (Map<String, Object>) Stubs.parse(body);
        Map<String, Object> model = (Map<String, Object>) request.get("model");
        model = (Map<String, Object>) model.get("model");
        Stubs.FeatureSet set = new Stubs.FeatureSet(names);
        boolean isLinear = model.get("type").equals(LinearRankerParser.TYPE);
        LtrRankerParser parser = isLinear ? new LinearRankerParser() : new XGBoostJsonParser();
        ranker = parser.parse(set, (String) model.get("definition"));
        Map<Integer, Normalizer> normalizers = normalizers(body).compileOrdToNorms(set);
        if (!normalizers.isEmpty()) {
            ranker = new FeatureNormalizingRanker(ranker, normalizers);
        }
        vector = null;
    }

    private static StoredFeatureNormalizers normalizers(String body) {
        List<FeatureNormDefinition> found = new ArrayList<>();
        Stubs.XContentParser parser = new Stubs.XContentParser(body);
        while (parser.nextToken() != null) {
            if (!"feature_normalizers".equals(parser.text())) {
                continue;
            }
            parser.nextToken();
            while (parser.nextToken() == Stubs.XContentParser.Token.FIELD_NAME) {
                String name = parser.currentName();
                try {
                    found.add(StoredFeatureNormalizers.PARSER.parse(parser, null, name));
                } catch (IOException e) {
                    throw new IllegalArgumentException(e);
                }
            }
        }
        return new StoredFeatureNormalizers(found);
    }

    @Override
    float score(float[] row) {
        vector = ranker.newFeatureVector(vector);
        for (int j = 0; j < row.length; j++) {
            if (!Float.isNaN(row[j])) { // a query that does not match sets nothing
                vector.setFeatureScore(j, row[j]);
            }
        }
        return ranker.score(vector);
    }
}
