package judge;

import com.o19s.es.ltr.ranker.LtrRanker;
import com.o19s.es.ltr.ranker.normalizer.FeatureNormalizingRanker;
import com.o19s.es.ltr.ranker.normalizer.MinMaxFeatureNormalizer;
import com.o19s.es.ltr.ranker.normalizer.Normalizer;
import com.o19s.es.ltr.ranker.normalizer.StandardFeatureNormalizer;
import com.o19s.es.ltr.ranker.parser.LinearRankerParser;
import com.o19s.es.ltr.ranker.parser.LtrRankerParser;
import com.o19s.es.ltr.ranker.parser.XGBoostJsonParser;
import java.io.IOException;
import java.util.HashMap;
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
        Object given = model.get("feature_normalizers");
        if (given != null) {
            Map<Integer, Normalizer> normalizers = new HashMap<>();
            ((Map<String, Map<String, Map<String, Double>>>) given).forEach(
                    (name, one) -> normalizers.put(set.featureOrdinal(name), normalizer(one)));
            ranker = new FeatureNormalizingRanker(ranker, normalizers);
        }
        vector = null;
    }

    private static Normalizer normalizer(Map<String, Map<String, Double>> given) {
        Map<String, Double> standard = given.get("standard");
        if (standard != null) {
            return new StandardFeatureNormalizer(
                    standard.get("mean").floatValue(),
                    standard.get("standard_deviation").floatValue());
        }
        Map<String, Double> ends = given.get("min_max");
        return new MinMaxFeatureNormalizer(
                ends.get("minimum").floatValue(), ends.get("maximum").floatValue());
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
