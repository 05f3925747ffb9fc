package judge;

import ciir.umass.edu.learning.DataPoint;
import ciir.umass.edu.learning.DenseDataPoint;
import ciir.umass.edu.learning.Ranker;
import ciir.umass.edu.learning.RankerFactory;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.List;

/** RankLib. */
class RankLib extends Judge {
    private Ranker ranker;

    public static void main(String[] folders) throws IOException {
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        new RankLib().run(folders);
    }

    @Override
    void read(String body, List<Object> names) {
        ranker = new RankerFactory().loadRankerFromString((String) Stubs.parse(body));
    }

    @Override
    float score(float[] row) {
        float[] values = new float[row.length + 1]; // features count from 1
        System.arraycopy(row, 0, values, 1, row.length);
        DataPoint point = new DenseDataPoint("0 qid:1 1:0");
        point.setFeatureVector(values);
        return (float) ranker.eval(point);
    }
}
